// Finds llama.cpp's name for a byte-level pre-tokenizer by its expressions, as published files
// spell them.
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

#define SPACES       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORD         "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS        " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
#define UPPER        "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER        "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(end)                                                                                 \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER     \
    "*" end
#define SIGNS_OR_SLASH " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
#define GPT2           "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LLAMA3         CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SIGNS SPACES
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES
#define CJK "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"

enum { EXPRESSIONS_MAX = 5 };

// Names whose merges are ignored come before those of the same expressions.
static const struct {
    const char *name;
    bool ignores_merges;
    const char *expressions[EXPRESSIONS_MAX + 1]; // in the dialect of the file
} rows[] = {
    {"llama-bpe", true, {LLAMA3}},
    {"dbrx", false, {LLAMA3}},
    {"qwen2", false, {CONTRACTIONS "|" WORD "|\\p{N}|" SIGNS SPACES}},
    {"qwen35",
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                   "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES}},
    {"tekken", true, {CASED("") "|\\p{N}|" SIGNS_OR_SLASH SPACES}},
    {"gpt-4o", false, {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}|" SIGNS_OR_SLASH SPACES}},
    {"smollm", false, {"\\p{N}", GPT2}},
    {"gpt-2", false, {GPT2}},
    {"deepseek-v3", false, {"\\p{N}{1,3}", CJK, DEEPSEEK3}},
    {"deepseek-coder",
     false,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
      "\\p{N}"}},
    {"seed-coder", false, {CONTRACTIONS "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES}},
    {"bailingmoe",
     false,
     {"'(?i:[sdmt]|ll|ve|re)|" WORD "|\\p{N}|" SIGNS "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
};

// The last expressions match all of a text, so that keeping the matches is isolating them.
static bool is_cut(const char *name, bool is_last)
{
    return strcmp(name, "isolate") == 0 || (is_last && strcmp(name, "keep") == 0);
}

// Returns true if the steps from the first one on that cuts are just these expressions.
static bool has_expressions(struct gi_hf_tokenizer *t, size_t first, const char *const *expressions)
{
    struct gi_hf_text wanted = {0};
    bool is_same = true;
    size_t i = first;
    for (; is_same && *expressions && i < t->n_steps; i++, expressions++) {
        const struct gi_hf_text *given = &t->steps[i].expression;
        wanted.count = 0;
        gi_hf_translate(t, *expressions, &wanted);
        is_same = is_cut(t->steps[i].name, !expressions[1]) && wanted.count == given->count &&
                  (!wanted.count || memcmp(wanted.data, given->data, wanted.count) == 0);
    }
    free(wanted.data);
    return is_same && !*expressions && i == t->n_steps;
}

static bool changes_text(const char *name)
{
    // Form C is what nearly all texts have.
    return strcmp(name, "nfc") != 0 && strcmp(name, "added_tokens") != 0;
}

const char *gi_hf_find_pre(struct gi_hf_tokenizer *t)
{
    size_t first = 0;
    while (first < t->n_steps && !changes_text(t->steps[first].name)) {
        first++;
    }
    const bool ignores_merges = gi_hf_member_bool(t, t->model, "ignore_merges", false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (has_expressions(t, first, rows[i].expressions) &&
            (ignores_merges || !rows[i].ignores_merges)) {
            return rows[i].name;
        }
    }
    return NULL;
}
