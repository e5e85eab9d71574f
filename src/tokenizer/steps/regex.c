#include "tokenizer/steps/regex.h"

#include "base/array.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { FILE_MATCH_STEPS = 20000000, FILE_HEAP_KIB = 65536 };

struct gi_regex {
    pcre2_general_context *memory;
    pcre2_code *code;
};

// PCRE2 takes its memory where everything else of the tokenizer does.
static void *allocate(PCRE2_SIZE size, void *user)
{
    (void)user;
    return malloc(size);
}

static void release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

//-- create ------------------------------------------------------------------------------------

#define OPTIONS      (PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_UTF_CHECK)
#define FILE_OPTIONS (PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C)

static bool refuse_expression(int error, size_t offset, const char *name, struct gi_text expression,
                              struct glinfer_error *err)
{
    enum { SHOWN = 80 }; // bytes, less those of a character that does not fit
    if (error == PCRE2_ERROR_HEAP_FAILED) {
        return gi_error_no_memory(err, expression.size, "a pre-tokenizer");
    }
    PCRE2_UCHAR text[128] = "";
    size_t n = expression.size < SHOWN ? expression.size : SHOWN;
    while (n < expression.size && n > 0 && ((uint8_t)expression.data[n] & 0xc0) == 0x80) {
        n--;
    }
    pcre2_get_error_message(error, text, sizeof(text));
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "PCRE2 cannot compile the expression '%.*s%s' (%s) of the tokenizer: byte "
                        "%zu: %s; use a GGUF file of the model",
                        (int)n, expression.data, n < expression.size ? "..." : "", name, offset,
                        (const char *)text);
}

static bool compile(struct gi_regex *regex, struct gi_text expression, enum gi_regex_origin origin,
                    const char *name, struct glinfer_error *err)
{
    int error = PCRE2_ERROR_HEAP_FAILED;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *context = NULL;
    regex->memory = pcre2_general_context_create(allocate, release, NULL);
    if (regex->memory) {
        context = pcre2_compile_context_create(regex->memory);
    }
    if (context) {
        regex->code = pcre2_compile((PCRE2_SPTR)expression.data, expression.size,
                                    origin == GI_REGEX_OURS ? OPTIONS : FILE_OPTIONS, &error,
                                    &offset, context);
    }
    pcre2_compile_context_free(context);
    if (!regex->code) {
        return refuse_expression(error, offset, name, expression, err);
    }
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); // without it the interpreter does the same
    return true;
}

struct gi_regex *gi_regex_create(struct gi_text expression, enum gi_regex_origin origin,
                                 const char *name, struct glinfer_error *err)
{
    struct gi_regex *regex = gi_array_zeroed(1, sizeof(*regex), "a pre-tokenizer", err);
    if (regex && !compile(regex, expression, origin, name, err)) {
        gi_regex_destroy(regex);
        return NULL;
    }
    return regex;
}

void gi_regex_destroy(struct gi_regex *regex)
{
    if (regex) {
        pcre2_code_free(regex->code);
        pcre2_general_context_free(regex->memory);
        free(regex);
    }
}

//-- match -------------------------------------------------------------------------------------

void gi_matcher_finish(struct gi_matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    pcre2_general_context_free(matcher->memory);
    *matcher = (struct gi_matcher){0};
}

bool gi_matcher_init(struct gi_matcher *matcher, enum gi_regex_origin origin,
                     struct glinfer_error *err)
{
    *matcher = (struct gi_matcher){.memory = pcre2_general_context_create(allocate, release, NULL)};
    if (matcher->memory) {
        matcher->data = pcre2_match_data_create(1, matcher->memory);
        matcher->context = pcre2_match_context_create(matcher->memory);
    }
    if (!matcher->data || !matcher->context) {
        gi_matcher_finish(matcher);
        return gi_error_no_memory(err, sizeof(*matcher), "a pre-tokenizer");
    }
    const bool is_ours = origin == GI_REGEX_OURS;
    pcre2_set_match_limit(matcher->context, is_ours ? UINT32_MAX : FILE_MATCH_STEPS);
    pcre2_set_depth_limit(matcher->context, UINT32_MAX);
    if (!is_ours) {
        pcre2_set_heap_limit(matcher->context, FILE_HEAP_KIB);
    }
    return true;
}

// The compiled form has a fixed stack; where that is too small the interpreter takes over, whose
// stack is the heap.
bool gi_regex_find(const struct gi_regex *regex, const struct gi_matcher *matcher,
                   struct gi_text text, size_t start, struct gi_span *span, bool *found,
                   struct glinfer_error *err)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)text.data;
    int n = pcre2_match(regex->code, subject, text.size, start, PCRE2_NO_UTF_CHECK, matcher->data,
                        matcher->context);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT) {
        n = pcre2_match(regex->code, subject, text.size, start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        matcher->data, matcher->context);
    }
    *found = n >= 0;
    if (n >= 0) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(matcher->data);
        *span = (struct gi_span){ends[0], ends[1]};
    }
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_RECURSELOOP) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "cannot cut a text of %zu bytes into words: an expression of the "
                            "tokenizer does not end",
                            text.size);
    }
    return n >= 0 || n == PCRE2_ERROR_NOMATCH ||
           gi_error_no_memory(err, text.size, "matching a pre-tokenizer");
}
