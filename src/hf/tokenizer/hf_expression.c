// Regular expressions: from Oniguruma's dialect, which tokenizer.json has, to PCRE2's.
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <string.h>

// To stand in a class. PCRE2's own \s has U+180E besides, its \w lacks marks.
#define SPACE                                                                                      \
    "\\x{09}-\\x{0d} \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"        \
    "\\x{205f}\\x{3000}"
#define NO_SPACE                                                                                   \
    "\\x{00}-\\x{08}\\x{0e}-\\x{1f}!-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"   \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"                 \
    "\\x{3001}-\\x{d7ff}\\x{e000}-\\x{10ffff}"
#define WORD                                                                                       \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"                    \
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

// Text in place of an escape, within a class and outside; NULL: not supported.
static const struct {
    char letter;
    const char *in_class, *alone;
} escapes[] = {
    {'s', SPACE, "[" SPACE "]"},
    {'S', NO_SPACE, "[^" SPACE "]"},
    {'w', WORD, "[" WORD "]"},
    {'W', NULL, "[^" WORD "]"},
    {'h', "0-9A-Fa-f", "[0-9A-Fa-f]"},
    {'H', NULL, "[^0-9A-Fa-f]"},
    {'v', "\\x{0b}", "\\x{0b}"},
    {'y', NULL, NULL},
    {'Y', NULL, NULL},
    {'C', NULL, NULL},
    {'M', NULL, NULL},
    {'c', NULL, NULL},
    {'g', NULL, NULL},
    {'N', NULL, NULL},
    {'O', NULL, NULL},
    {'Q', NULL, NULL},
    {'E', NULL, NULL},
};

#define N_ESCAPES (sizeof(escapes) / sizeof(escapes[0]))

static void push_text(struct gi_hf_tokenizer *t, struct gi_hf_text *out, const char *text)
{
    gi_hf_push(t, out, text, strlen(text));
}

// Appends a character that stands for itself. Line ends and tabs become escapes, since some files
// have the one spelling and some the other.
static void push_character(struct gi_hf_tokenizer *t, struct gi_hf_text *out, char character)
{
    static const char controls[] = "\r\n\t", letters[] = "rnt";
    const char *at = character ? strchr(controls, character) : NULL;
    if (at) {
        push_text(t, out, "\\");
        gi_hf_push(t, out, &letters[at - controls], 1);
    } else {
        gi_hf_push(t, out, &character, 1);
    }
}

static void refuse(struct gi_hf_tokenizer *t, const char *expression, const char *at,
                   const char *what)
{
    gi_hf_fail(
        t->b, GLINFER_STATUS_UNSUPPORTED,
        "tokenizer.json: byte %zu of the expression '%.200s': %s is not supported; use a GGUF "
        "file of the model",
        (size_t)(at - expression), expression, what);
}

// Translates \u0041 and \u{41}. Returns the bytes read after the \, 0 without hexadecimal digits.
static size_t push_code(struct gi_hf_tokenizer *t, const char *at, struct gi_hf_text *out)
{
    const bool has_braces = at[1] == '{';
    const char *digits = at + (has_braces ? 2 : 1);
    const size_t n = strspn(digits, "0123456789abcdefABCDEF");
    if (has_braces ? n == 0 || n > 6 || digits[n] != '}' : n < 4) {
        return 0;
    }
    push_text(t, out, "\\x{");
    gi_hf_push(t, out, digits, has_braces ? n : 4);
    push_text(t, out, "}");
    return has_braces ? n + 3 : 5;
}

// Translates the escape whose \ is at `at`; returns the bytes read, 0 after a failure.
static size_t push_escape(struct gi_hf_tokenizer *t, const char *expression, const char *at,
                          bool in_class, struct gi_hf_text *out)
{
    if (at[1] == 'u') {
        const size_t n = push_code(t, at + 1, out);
        if (n == 0) {
            refuse(t, expression, at, "\\u without digits");
        }
        return n > 0 ? n + 1 : 0;
    }
    for (size_t i = 0; i < N_ESCAPES; i++) {
        if (escapes[i].letter == at[1]) {
            const char *text = in_class ? escapes[i].in_class : escapes[i].alone;
            if (!text) {
                refuse(t, expression, at, "this escape");
                return 0;
            }
            push_text(t, out, text);
            return 2;
        }
    }
    if (!at[1]) {
        refuse(t, expression, at, "a \\ at the end");
        return 0;
    }
    const char *end = strchr("pPx", at[1]) && at[2] == '{' ? strchr(at, '}') : NULL;
    const size_t size = end ? (size_t)(end - at) + 1 : 2;
    gi_hf_push(t, out, at, size);
    return size;
}

// A class that is being translated; classes within it are joined with it.
struct class
{
    const char *expression, *at;
    size_t depth; // of classes within it that are open
    bool is_closed;
};

// Begins a class within a class, or copies one such as [:alpha:].
static void push_inner(struct gi_hf_tokenizer *t, struct class *class, struct gi_hf_text *out)
{
    const char *end = class->at[1] == ':' ? strstr(class->at, ":]") : NULL;
    if (end) {
        gi_hf_push(t, out, class->at, (size_t)(end - class->at) + 2);
        class->at = end + 2;
    } else if (class->at[1] == '^' || class->at[-1] == '-') {
        refuse(t, class->expression, class->at, "this class within a class");
    } else {
        class->depth++;
        class->at++;
    }
}

// Translates one item of a class; false at the ] that ends it, and at the end of the expression.
static bool push_item(struct gi_hf_tokenizer *t, struct class *class, bool is_first,
                      struct gi_hf_text *out)
{
    const char *at = class->at;
    if (!*at || !gi_hf_ok(t->b)) {
        return false;
    }
    if (*at == '\\') {
        class->at += push_escape(t, class->expression, at, true, out);
    } else if (*at == '[') {
        push_inner(t, class, out);
    } else if (*at == ']' && !is_first) {
        class->at++;
        class->is_closed = class->depth == 0;
        class->depth -= !class->is_closed;
        return !class->is_closed;
    } else if (at[0] == '&' && at[1] == '&') {
        refuse(t, class->expression, at, "&& within a class");
    } else {
        // A - that is the first or the last of a class within stands for itself.
        const bool is_plain = *at == '-' && (at[-1] == '[' || at[1] == ']');
        push_text(t, out, is_plain || *at == ']' ? "\\" : "");
        push_character(t, out, *at);
        class->at++;
    }
    return true;
}

// Translates a class, from its [ on; returns the bytes read, 0 after a failure.
static size_t push_class(struct gi_hf_tokenizer *t, const char *expression, const char *begin,
                         struct gi_hf_text *out)
{
    struct class class = {.expression = expression, .at = begin + 1};
    push_text(t, out, "[");
    if (*class.at == '^') {
        gi_hf_push(t, out, class.at++, 1);
    }
    bool is_first = true;
    while (push_item(t, &class, is_first, out)) {
        is_first = false;
    }
    push_text(t, out, "]");
    if (!class.is_closed) {
        refuse(t, expression, begin, "a class without an end");
    }
    return gi_hf_ok(t->b) ? (size_t)(class.at - begin) : 0;
}

void gi_hf_translate(struct gi_hf_tokenizer *t, const char *expression, struct gi_hf_text *out)
{
    for (const char *at = expression; *at && gi_hf_ok(t->b);) {
        if (*at == '\\') {
            at += push_escape(t, expression, at, false, out);
        } else if (*at == '[') {
            at += push_class(t, expression, at, out);
        } else if (at[0] == '}' && at[1] == '+') { // repeats what {n,m} gave, and is not possessive
            refuse(t, expression, at, "+ after {}");
        } else if (at[0] == '(' && (at[1] == '*' || strncmp(at, "(?m", 3) == 0)) {
            refuse(t, expression, at, "this group");
        } else {
            push_character(t, out, *at++);
        }
    }
}

void gi_hf_quote(struct gi_hf_tokenizer *t, const char *text, struct gi_hf_text *out)
{
    for (; *text; text++) {
        if (strchr("\\^$.[]|()?*+{}-#", *text)) {
            push_text(t, out, "\\");
        }
        gi_hf_push(t, out, text, 1);
    }
}
