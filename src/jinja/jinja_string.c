#include "jinja/jinja_string.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

struct gi_jinja_string gi_jinja_string_of(const char *text)
{
    return (struct gi_jinja_string){text, NULL, strlen(text)};
}

struct gi_jinja_string gi_jinja_part(struct gi_jinja_string string, size_t begin, size_t end)
{
    end = end < string.size ? end : string.size;
    begin = begin < end ? begin : end;
    return (struct gi_jinja_string){string.data ? string.data + begin : NULL,
                                    string.marks ? string.marks + begin : NULL, end - begin};
}

bool gi_jinja_same(struct gi_jinja_string a, struct gi_jinja_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool gi_jinja_is(struct gi_jinja_string string, const char *text)
{
    return gi_jinja_same(string, gi_jinja_string_of(text));
}

int gi_jinja_compare(struct gi_jinja_string a, struct gi_jinja_string b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

size_t gi_jinja_locate(struct gi_jinja_string string, struct gi_jinja_string what, size_t from)
{
    if (from > string.size || what.size > string.size - from) {
        return SIZE_MAX;
    }
    if (what.size == 0) {
        return from;
    }
    // Searches in windows, each twice the one before: memmem of AddressSanitizer looks at all that
    // it is given, so a search of all the rest would cost that much for every find.
    for (size_t window = 256;; window *= 2) {
        const size_t left = string.size - from;
        const bool is_last = left - what.size <= window;
        const char *found =
            memmem(string.data + from, is_last ? left : window + what.size, what.data, what.size);
        if (found || is_last) {
            return found ? (size_t)(found - string.data) : SIZE_MAX;
        }
        from += window + 1;
    }
}

size_t gi_jinja_character(struct gi_jinja_string string, size_t i)
{
    size_t at = 0;
    for (; i > 0 && at < string.size; i--) {
        at++;
        while (at < string.size && gi_utf8_continues(string.data[at])) {
            at++;
        }
    }
    return at;
}

//-- growing ---------------------------------------------------------------------------------------

static bool grow_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text, size_t size)
{
    if (size <= text->capacity) {
        return true;
    }
    const size_t capacity = size < 128 ? 256 : 2 * size;
    char *data = gi_jinja_allocate(pool, capacity);
    uint8_t *marks = gi_jinja_allocate(pool, capacity);
    if (!data || !marks) {
        return false;
    }
    if (text->size) {
        memcpy(data, text->data, text->size);
        memcpy(marks, text->marks, text->size);
    }
    text->data = data;
    text->marks = marks;
    text->capacity = capacity;
    return true;
}

void gi_jinja_append(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                     struct gi_jinja_string string)
{
    if (string.size == 0 || string.size > pool->limit ||
        !grow_text(pool, text, text->size + string.size)) {
        return;
    }
    memcpy(text->data + text->size, string.data, string.size);
    if (string.marks) {
        memcpy(text->marks + text->size, string.marks, string.size);
    } else {
        memset(text->marks + text->size, 0, string.size);
    }
    text->size += string.size;
}

void gi_jinja_append_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                          const char *string)
{
    gi_jinja_append(pool, text, gi_jinja_string_of(string));
}

struct gi_jinja_string gi_jinja_text_string(const struct gi_jinja_text *text)
{
    return (struct gi_jinja_string){text->data, text->marks, text->size};
}

struct gi_jinja_string gi_jinja_copy(struct gi_jinja_pool *pool, struct gi_jinja_string string)
{
    struct gi_jinja_text text = {0};
    gi_jinja_append(pool, &text, string);
    return gi_jinja_text_string(&text);
}

//-- changing --------------------------------------------------------------------------------------

struct gi_jinja_string gi_jinja_strip(struct gi_jinja_string string,
                                      const struct gi_jinja_string *what, enum gi_jinja_sides sides)
{
    const struct gi_jinja_string cut = what ? *what : gi_jinja_string_of(" \t\n\v\f\r");
    bool is_cut[256] = {false};
    size_t begin = 0, end = string.size;
    for (size_t i = 0; i < cut.size; i++) {
        is_cut[(unsigned char)cut.data[i]] = true;
    }
    while ((sides & GI_JINJA_LEFT) && begin < end && is_cut[(unsigned char)string.data[begin]]) {
        begin++;
    }
    while ((sides & GI_JINJA_RIGHT) && begin < end && is_cut[(unsigned char)string.data[end - 1]]) {
        end--;
    }
    return gi_jinja_part(string, begin, end);
}

struct gi_jinja_string gi_jinja_replace(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                        struct gi_jinja_string old, struct gi_jinja_string with,
                                        int64_t at_most)
{
    struct gi_jinja_text text = {0};
    size_t begin = 0, found;
    for (; old.size && at_most != 0 && !pool->has_failed &&
           (found = gi_jinja_locate(string, old, begin)) != SIZE_MAX;
         at_most--) {
        gi_jinja_append(pool, &text, gi_jinja_part(string, begin, found));
        gi_jinja_append(pool, &text, with);
        gi_jinja_spend(pool, 1);
        begin = found + old.size;
    }
    gi_jinja_append(pool, &text, gi_jinja_part(string, begin, string.size));
    return gi_jinja_text_string(&text);
}

struct gi_jinja_string gi_jinja_change_case(struct gi_jinja_pool *pool,
                                            struct gi_jinja_string string, enum gi_jinja_case to)
{
    struct gi_jinja_string copy = gi_jinja_copy(pool, string);
    char *data = (char *)copy.data; // the copy is ours
    for (size_t i = 0; i < copy.size; i++) {
        const bool is_first = to == GI_JINJA_CASE_CAPITALIZE
                                  ? i == 0
                                  : i == 0 || !isalpha((unsigned char)data[i - 1]);
        const bool is_upper = to == GI_JINJA_CASE_UPPER || (to != GI_JINJA_CASE_LOWER && is_first);
        if (data[i] >= 'a' && data[i] <= 'z' && is_upper) {
            data[i] = (char)(data[i] - 'a' + 'A');
        } else if (data[i] >= 'A' && data[i] <= 'Z' && !is_upper) {
            data[i] = (char)(data[i] - 'A' + 'a');
        }
    }
    return copy;
}
