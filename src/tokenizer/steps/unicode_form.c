#include "tokenizer/steps/unicode_form.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <utf8proc.h>

// Characters that one becomes at most, U+FDFA in form KD.
#define DECOMPOSED_MAX 18

bool gi_bytes_push(struct gi_bytes *bytes, struct gi_text text, struct glinfer_error *err)
{
    if (text.size > SIZE_MAX - bytes->count) {
        return gi_error_no_memory(err, text.size, "a text");
    }
    if (!GI_ARRAY_RESERVE(bytes, bytes->count + text.size, "a text", err)) {
        return false;
    }
    if (text.size) {
        memcpy(bytes->data + bytes->count, text.data, text.size);
    }
    bytes->count += text.size;
    return true;
}

static bool push_code(struct gi_bytes *out, uint32_t code, struct glinfer_error *err)
{
    char bytes[4];
    return gi_bytes_push(out, (struct gi_text){bytes, gi_utf8_encode(code, bytes)}, err);
}

static bool is_ascii(struct gi_text text)
{
    size_t i = 0;
    while (i < text.size && !((uint8_t)text.data[i] & 0x80)) {
        i++;
    }
    return i == text.size;
}

//-- normal forms ------------------------------------------------------------------------------

struct codes {
    utf8proc_int32_t *data;
    size_t count, capacity;
};

// A mark and its place among the marks of a character.
struct mark {
    utf8proc_int32_t code;
    int combining_class;
    size_t at;
};

struct marks {
    struct mark *data;
    size_t count, capacity;
};

static int compare_marks(const void *a, const void *b)
{
    const struct mark *left = a, *right = b;
    return left->combining_class != right->combining_class
               ? (left->combining_class > right->combining_class) -
                     (left->combining_class < right->combining_class)
               : (left->at > right->at) - (left->at < right->at);
}

static int combining_class(utf8proc_int32_t code)
{
    return utf8proc_get_property(code)->combining_class;
}

// Sorts each run of marks by their class. Library functions do so by swapping neighbours, which
// takes the square of a long run's length.
static bool sort_marks(struct codes *codes, struct glinfer_error *err)
{
    struct marks marks = {0};
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < codes->count; i++) {
        marks.count = 0;
        for (size_t at = i; is_ok && at < codes->count; at++) {
            const int class = combining_class(codes->data[at]);
            if (class == 0) {
                break;
            }
            is_ok = GI_ARRAY_PUSH(&marks, "the marks of a character", err,
                                  (struct mark){codes->data[at], class, at});
        }
        if (marks.count > 1) {
            qsort(marks.data, marks.count, sizeof(marks.data[0]), compare_marks);
        }
        for (size_t j = 0; is_ok && j < marks.count; j++) {
            codes->data[i + j] = marks.data[j].code;
        }
        i += marks.count;
    }
    free(marks.data);
    return is_ok;
}

static bool decompose(struct gi_text text, utf8proc_option_t options, struct codes *codes,
                      struct glinfer_error *err)
{
    for (size_t offset = 0; offset < text.size;) {
        if (!GI_ARRAY_RESERVE(codes, codes->count + DECOMPOSED_MAX, "a text", err)) {
            return false;
        }
        const uint32_t code = gi_utf8_next(text.data, text.size, &offset);
        utf8proc_int32_t *room = codes->data + codes->count;
        const utf8proc_ssize_t n =
            utf8proc_decompose_char((utf8proc_int32_t)code, room, DECOMPOSED_MAX, options, NULL);
        if (n <= 0 || n > DECOMPOSED_MAX) { // not a character
            room[0] = (utf8proc_int32_t)code;
        }
        codes->count += n <= 0 || n > DECOMPOSED_MAX ? 1 : (size_t)n;
    }
    return sort_marks(codes, err);
}

static utf8proc_option_t options_of(enum gi_unicode_form form)
{
    const bool is_compatible = form == GI_FORM_KC || form == GI_FORM_KD;
    const bool is_composed = form == GI_FORM_C || form == GI_FORM_KC;
    return (utf8proc_option_t)(UTF8PROC_STABLE | (is_compatible ? UTF8PROC_COMPAT : 0) |
                               (is_composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE));
}

bool gi_form_push(enum gi_unicode_form form, struct gi_text text, struct gi_bytes *out,
                  struct glinfer_error *err)
{
    if (is_ascii(text)) {
        return gi_bytes_push(out, text, err);
    }
    const utf8proc_option_t options = options_of(form);
    struct codes codes = {0};
    bool is_ok = decompose(text, options, &codes, err);
    if (is_ok) {
        const utf8proc_ssize_t n =
            utf8proc_normalize_utf32(codes.data, (utf8proc_ssize_t)codes.count, options);
        codes.count = n < 0 ? codes.count : (size_t)n;
    }
    for (size_t i = 0; is_ok && i < codes.count; i++) {
        is_ok = push_code(out, (uint32_t)codes.data[i], err);
    }
    free(codes.data);
    return is_ok;
}

//-- characters --------------------------------------------------------------------------------

bool gi_lower_push(struct gi_text text, struct gi_bytes *out, struct glinfer_error *err)
{
    enum { I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 };
    bool is_ok = true;
    for (size_t offset = 0; is_ok && offset < text.size;) {
        const uint32_t code = gi_utf8_next(text.data, text.size, &offset);
        if (code == I_WITH_DOT) { // the one character that becomes two
            is_ok = push_code(out, 'i', err) && push_code(out, DOT_ABOVE, err);
        } else {
            is_ok = push_code(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code), err);
        }
    }
    return is_ok;
}

size_t gi_grapheme_size(struct gi_text text)
{
    size_t offset = 0;
    utf8proc_int32_t state = 0;
    uint32_t before = gi_utf8_next(text.data, text.size, &offset);
    while (offset < text.size) {
        size_t end = offset;
        const uint32_t code = gi_utf8_next(text.data, text.size, &end);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)code,
                                             &state)) {
            break;
        }
        before = code;
        offset = end;
    }
    return offset;
}

bool gi_is_unicode_space(uint32_t code)
{
    return (code >= 0x09 && code <= 0x0d) || code == ' ' || code == 0x85 || code == 0xa0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool gi_is_unicode_word(uint32_t code)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default: // joiners, and letters in circles and squares
        return code == 0x200c || code == 0x200d || (code >= 0x24b6 && code <= 0x24e9) ||
               (code >= 0x1f130 && code <= 0x1f149) || (code >= 0x1f150 && code <= 0x1f169) ||
               (code >= 0x1f170 && code <= 0x1f189);
    }
}
