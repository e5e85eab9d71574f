// The normalizer and the pre-tokenizer of tokenizer.json as steps. Components that the tokenizers
// library implements in code become expressions here.
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

#define WHITE_SPACE "\\s"
#define PUNCTUATION "[\\p{P}$+<=>^`|~]"
#define WORDS       "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define IDEOGRAPHS                                                                                 \
    "[\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{faff}\\x{20000}-\\x{2a6df}"              \
    "\\x{2a700}-\\x{2b73f}\\x{2b740}-\\x{2b81f}\\x{2b920}-\\x{2ceaf}\\x{2f800}-\\x{2fa1f}]"

//-- steps -------------------------------------------------------------------------------------

// Appends a step without texts; NULL after a failure.
static struct gi_hf_step *add_step(struct gi_hf_tokenizer *t, const char *name)
{
    if (t->n_steps == GI_HF_STEPS_MAX) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: more than %d steps of normalizers and pre-tokenizers are not "
                   "supported",
                   GI_HF_STEPS_MAX);
    }
    if (!gi_hf_ok(t->b)) {
        return NULL;
    }
    t->steps[t->n_steps].name = name;
    return &t->steps[t->n_steps++];
}

static void add_text_step(struct gi_hf_tokenizer *t, const char *name, const char *text)
{
    struct gi_hf_step *step = add_step(t, name);
    if (step) {
        gi_hf_push(t, &step->text, text, strlen(text));
    }
}

// Adds a step with an expression in the dialect of the file.
static void add_regex_step(struct gi_hf_tokenizer *t, const char *name, const char *expression,
                           const char *text)
{
    struct gi_hf_step *step = add_step(t, name);
    if (step) {
        gi_hf_translate(t, expression, &step->expression);
        gi_hf_push(t, &step->text, text, strlen(text));
    }
}

// Adds a step with an expression that matches a text.
static void add_quoted_step(struct gi_hf_tokenizer *t, const char *name, const char *matched,
                            const char *text)
{
    struct gi_hf_step *step = add_step(t, name);
    if (step) {
        gi_hf_quote(t, matched, &step->expression);
        gi_hf_push(t, &step->text, text, strlen(text));
    }
}

// Adds a step with the "pattern" of a component, {"Regex": ...} or {"String": ...}.
static void add_pattern_step(struct gi_hf_tokenizer *t, const cJSON *component, const char *name,
                             const char *text)
{
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(component, "pattern");
    const char *regex = gi_hf_member_text(pattern, "Regex", NULL);
    const char *string = gi_hf_member_text(pattern, "String", NULL);
    if (regex) {
        add_regex_step(t, name, regex, text);
    } else if (string && *string) {
        add_quoted_step(t, name, string, text);
    } else {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: a component of type %s has no \"pattern\" with a \"Regex\" or "
                   "a \"String\"",
                   gi_hf_type_of(component));
    }
}

//-- normalizers -------------------------------------------------------------------------------

// Decodes base64 (RFC 4648) without its padding.
static void decode_base64(struct gi_hf_tokenizer *t, const char *text, struct gi_hf_text *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (; *text && *text != '=' && gi_hf_ok(t->b); text++) {
        const char *digit = strchr(digits, *text);
        if (!digit) {
            gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                       "tokenizer.json: \"precompiled_charsmap\" is not base64");
            return;
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            const char byte = (char)(bits >> n_bits & 0xff);
            gi_hf_push(t, out, &byte, 1);
        }
    }
}

static void add_charsmap(struct gi_hf_tokenizer *t, const cJSON *component)
{
    if (t->charsmap.count) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: two normalizers of type Precompiled are not supported");
        return;
    }
    const char *text = gi_hf_member_text(component, "precompiled_charsmap", "");
    if (*text) { // null: replaces nothing
        decode_base64(t, text, &t->charsmap);
        add_step(t, "charsmap");
    }
}

static void add_bert_normalizer(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const bool is_lower = gi_hf_member_bool(t, component, "lowercase", true);
    if (gi_hf_member_bool(t, component, "clean_text", true)) {
        add_regex_step(t, "replace", "(?![\\t\\n\\r])[\\p{Cc}\\p{Cf}\\p{Co}\\x{fffd}]", "");
        add_regex_step(t, "replace", WHITE_SPACE, " ");
    }
    if (gi_hf_member_bool(t, component, "handle_chinese_chars", true)) {
        add_regex_step(t, "surround", IDEOGRAPHS, " ");
    }
    if (gi_hf_member_bool(t, component, "strip_accents", is_lower)) {
        add_step(t, "nfd");
        add_regex_step(t, "replace", "\\p{Mn}", "");
    }
    if (is_lower) {
        add_step(t, "lowercase");
    }
}

static void add_strip(struct gi_hf_tokenizer *t, const cJSON *component)
{
    if (gi_hf_member_bool(t, component, "strip_left", true)) {
        add_regex_step(t, "replace", "\\A" WHITE_SPACE "+", "");
    }
    if (gi_hf_member_bool(t, component, "strip_right", true)) {
        add_regex_step(t, "replace", WHITE_SPACE "+\\z", "");
    }
}

static void add_nmt(struct gi_hf_tokenizer *t, const cJSON *component)
{
    (void)component;
    add_regex_step(t, "replace", "[\\x{01}-\\x{08}\\x{0b}\\x{0e}-\\x{1f}\\x{7f}\\x{8f}\\x{9f}]",
                   "");
    add_regex_step(t, "replace",
                   "[\\x{09}\\x{0a}\\x{0c}\\x{0d}\\x{1680}\\x{200b}-\\x{200f}\\x{2028}\\x{2029}"
                   "\\x{2581}\\x{feff}\\x{fffd}]",
                   " ");
}

static void add_replace(struct gi_hf_tokenizer *t, const cJSON *component)
{
    add_pattern_step(t, component, "replace", gi_hf_member_text(component, "content", ""));
}

static void add_prepend(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const char *text = gi_hf_member_text(component, "prepend", "");
    add_text_step(t, "prepend", text);
    t->has_prefix |= *text;
}

static void add_accents(struct gi_hf_tokenizer *t, const cJSON *component)
{
    (void)component;
    add_regex_step(t, "replace", "\\p{M}", "");
}

// A type of component: a step without texts, or a function.
struct row {
    const char *type, *step;
    void (*add)(struct gi_hf_tokenizer *t, const cJSON *component);
};

static const struct row normalizers[] = {
    {"NFC", "nfc", NULL},
    {"NFD", "nfd", NULL},
    {"NFKC", "nfkc", NULL},
    {"NFKD", "nfkd", NULL},
    {"Lowercase", "lowercase", NULL},
    {"StripAccents", NULL, add_accents},
    {"Strip", NULL, add_strip},
    {"Replace", NULL, add_replace},
    {"Prepend", NULL, add_prepend},
    {"BertNormalizer", NULL, add_bert_normalizer},
    {"Precompiled", NULL, add_charsmap},
    {"Nmt", NULL, add_nmt},
};

//-- pre-tokenizers ----------------------------------------------------------------------------

// Names of a cut, by "behavior": of the matches, and of what is between them.
static const struct {
    const char *behavior, *step, *inverted;
} cuts[] = {
    {"Isolated", "isolate", "isolate"},
    {"Removed", "remove", "keep"},
    {"MergedWithPrevious", "with_previous", "but_with_previous"},
    {"MergedWithNext", "with_next", "but_with_next"},
    {"Contiguous", "contiguous", "contiguous"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Returns NULL after a failure.
static const char *find_cut(struct gi_hf_tokenizer *t, const cJSON *component, bool is_inverted)
{
    const char *behavior = gi_hf_member_text(component, "behavior", "Isolated");
    for (size_t i = 0; i < COUNT(cuts); i++) {
        if (strcmp(cuts[i].behavior, behavior) == 0) {
            return is_inverted ? cuts[i].inverted : cuts[i].step;
        }
    }
    gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
               "tokenizer.json: the behavior '%.64s' of a pre-tokenizer is not supported",
               behavior);
    return NULL;
}

static void add_split(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const char *cut = find_cut(t, component, gi_hf_member_bool(t, component, "invert", false));
    if (cut) {
        add_pattern_step(t, component, cut, "");
    }
}

static void add_punctuation(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const char *cut = find_cut(t, component, false);
    if (cut) {
        add_regex_step(t, cut, PUNCTUATION, "");
    }
}

static void add_byte_level(struct gi_hf_tokenizer *t, const cJSON *component)
{
    t->is_byte_level = true;
    if (gi_hf_member_bool(t, component, "add_prefix_space", true)) {
        add_text_step(t, "prefix", " ");
        t->has_prefix = true;
    }
    if (gi_hf_member_bool(t, component, "use_regex", true)) {
        add_regex_step(t, "isolate", WORDS, "");
    }
}

static void add_metaspace(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const char *mark = gi_hf_member_text(component, "replacement", "\u2581");
    const bool is_prefixed = gi_hf_member_bool(t, component, "add_prefix_space", true);
    const char *scheme =
        gi_hf_member_text(component, "prepend_scheme", is_prefixed ? "always" : "never");
    add_quoted_step(t, "replace", " ", mark);
    if (strcmp(scheme, "always") == 0 || strcmp(scheme, "first") == 0) {
        add_text_step(t, *scheme == 'a' ? "prefix" : "prefix_first", mark);
        t->has_prefix = true;
    } else if (strcmp(scheme, "never") != 0) {
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: the prepend_scheme '%.64s' of Metaspace is not supported",
                   scheme);
    }
    if (gi_hf_member_bool(t, component, "split", true)) {
        add_quoted_step(t, "with_next", mark, "");
    }
}

static void add_digits(struct gi_hf_tokenizer *t, const cJSON *component)
{
    const bool is_each = gi_hf_member_bool(t, component, "individual_digits", false);
    add_regex_step(t, is_each ? "isolate" : "contiguous", "\\p{N}", "");
}

static void add_bert_words(struct gi_hf_tokenizer *t, const cJSON *component)
{
    (void)component;
    add_regex_step(t, "remove", WHITE_SPACE, "");
    add_regex_step(t, "isolate", PUNCTUATION, "");
    t->removes_spaces = true;
}

static void add_words(struct gi_hf_tokenizer *t, const cJSON *component)
{
    (void)component;
    add_regex_step(t, "keep", "[\\w\\x{200c}\\x{200d}]+|[^\\w\\s\\x{200c}\\x{200d}]+", "");
    t->removes_spaces = true;
}

static void add_spaces(struct gi_hf_tokenizer *t, const cJSON *component)
{
    (void)component;
    add_regex_step(t, "remove", WHITE_SPACE, "");
    t->removes_spaces = true;
}

static void add_delimiter(struct gi_hf_tokenizer *t, const cJSON *component)
{
    add_quoted_step(t, "remove", gi_hf_member_text(component, "delimiter", " "), "");
}

static const struct row pretokenizers[] = {
    {"ByteLevel", NULL, add_byte_level},         {"Split", NULL, add_split},
    {"Metaspace", NULL, add_metaspace},          {"Digits", NULL, add_digits},
    {"Punctuation", NULL, add_punctuation},      {"Whitespace", NULL, add_words},
    {"WhitespaceSplit", NULL, add_spaces},       {"BertPreTokenizer", NULL, add_bert_words},
    {"CharDelimiterSplit", NULL, add_delimiter},
};

//-- read --------------------------------------------------------------------------------------

static bool add_row(struct gi_hf_tokenizer *t, const struct row *rows, size_t n_rows,
                    const cJSON *component)
{
    const char *type = gi_hf_type_of(component);
    for (size_t i = 0; i < n_rows; i++) {
        if (strcmp(rows[i].type, type) == 0) {
            if (rows[i].add) {
                rows[i].add(t, component);
            } else {
                add_step(t, rows[i].step);
            }
            return true;
        }
    }
    return false;
}

static void add_normalizer(struct gi_hf_tokenizer *t, const cJSON *component)
{
    if (!add_row(t, normalizers, COUNT(normalizers), component)) {
        gi_hf_refuse_type(t, "normalizer", component);
    }
}

static void add_pretokenizer(struct gi_hf_tokenizer *t, const cJSON *component)
{
    if (t->is_byte_level) { // it would see bytes as characters
        gi_hf_fail(t->b, GLINFER_STATUS_UNSUPPORTED,
                   "tokenizer.json: a pre-tokenizer (%.64s) after ByteLevel is not supported",
                   gi_hf_type_of(component));
    } else if (!add_row(t, pretokenizers, COUNT(pretokenizers), component)) {
        gi_hf_refuse_type(t, "pre_tokenizer", component);
    }
}

// Notes whether an added token is found in the normalised text.
static bool has_normalised_tokens(struct gi_hf_tokenizer *t)
{
    const cJSON *added = cJSON_GetObjectItemCaseSensitive(t->file, "added_tokens"), *token;
    cJSON_ArrayForEach(token, added)
    {
        const bool is_special = gi_hf_member_bool(t, token, "special", false);
        if (gi_hf_member_bool(t, token, "normalized", !is_special)) {
            return true;
        }
    }
    return false;
}

void gi_hf_read_steps(struct gi_hf_tokenizer *t)
{
    gi_hf_visit(t, cJSON_GetObjectItemCaseSensitive(t->file, "normalizer"), "normalizers",
                add_normalizer);
    if (t->n_steps && has_normalised_tokens(t)) {
        add_step(t, "added_tokens");
    }
    gi_hf_visit(t, cJSON_GetObjectItemCaseSensitive(t->file, "pre_tokenizer"), "pretokenizers",
                add_pretokenizer);
}
