// Tokens, their types and scores, and merges.
#include "hf/tokenizer/hf_tokenizer_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

// Limit of ids that no token has.
enum { GAPS_MAX = 1 << 20 };

//-- sizes -------------------------------------------------------------------------------------

static size_t count_children(const cJSON *json)
{
    size_t n = 0;
    for (const cJSON *child = json ? json->child : NULL; child; child = child->next) {
        n++;
    }
    return n;
}

static void refuse_id(struct gi_hf_tokenizer *t, const char *text)
{
    gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
               "tokenizer.json: the id of the token '%.64s' is invalid, expected a whole number "
               "below the number of tokens plus %d",
               text, GAPS_MAX);
}

// Reads an id below a limit; false after a failure.
static bool read_id(struct gi_hf_tokenizer *t, const cJSON *json, size_t limit, const char *text,
                    size_t *id)
{
    uint64_t count;
    if (!gi_hf_json_count(json, &count) || count >= limit) {
        refuse_id(t, text);
        return false;
    }
    *id = (size_t)count;
    return true;
}

// Returns one more than the largest id of the model.
static size_t count_model(struct gi_hf_tokenizer *t, const cJSON *vocab)
{
    const bool has_ids = cJSON_IsObject(vocab);
    const size_t count = count_children(vocab);
    size_t n = has_ids ? 0 : count, id;
    for (const cJSON *token = has_ids ? vocab->child : NULL; token; token = token->next) {
        if (!read_id(t, token, count + GAPS_MAX, token->string, &id)) {
            return 0;
        }
        n = id >= n ? id + 1 : n;
    }
    return n;
}

// Returns one more than the largest id of the model, of n ids, and the added tokens.
static size_t count_tokens(struct gi_hf_tokenizer *t, size_t n, const cJSON *added)
{
    const size_t limit = n + count_children(added) + GAPS_MAX;
    size_t id;
    for (const cJSON *token = added ? added->child : NULL; token; token = token->next) {
        const char *text = gi_hf_member_text(token, "content", "");
        if (!read_id(t, cJSON_GetObjectItemCaseSensitive(token, "id"), limit, text, &id)) {
            return 0;
        }
        n = id >= n ? id + 1 : n;
    }
    return n;
}

// Counts the tokens that have rows of the embedding. There may be more rows than tokens, and
// added tokens without one, such as that of images in models of text alone.
static size_t count_rows(struct gi_hf_tokenizer *t, const cJSON *vocab, const cJSON *added)
{
    const size_t n_model = count_model(t, vocab);
    const size_t n_tokens = gi_hf_ok(t->b) ? count_tokens(t, n_model, added) : 0;
    const cJSON *size = gi_hf_get(t->b, "vocab_size");
    uint64_t n_rows = n_tokens;
    if (gi_hf_ok(t->b) && size &&
        (!gi_hf_json_count(size, &n_rows) || n_rows < n_model || n_rows > n_tokens + GAPS_MAX)) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "config.json: \"vocab_size\" does not fit the %zu tokens of tokenizer.json",
                   n_model);
    }
    return gi_hf_ok(t->b) ? (size_t)n_rows : 0;
}

//-- tokens ------------------------------------------------------------------------------------

static bool is_byte(const char *text)
{
    return strlen(text) == 6 && strncmp(text, "<0x", 3) == 0 && text[5] == '>' &&
           strspn(text + 3, "0123456789ABCDEF") == 2;
}

static void set_token(struct gi_hf_tokenizer *t, size_t id, const char *text)
{
    t->tokens[id] = (struct gi_gguf_string){text, strlen(text)};
    t->types[id] = is_byte(text) && !t->is_byte_level ? BYTE : NORMAL;
}

// Reads [[text, score], ...].
static void read_scored(struct gi_hf_tokenizer *t, const cJSON *vocab)
{
    size_t id = 0;
    for (const cJSON *pair = vocab->child; pair; pair = pair->next, id++) {
        const cJSON *text = pair->child, *score = text ? text->next : NULL;
        if (!cJSON_IsString(text) || !cJSON_IsNumber(score) ||
            !(fabs(score->valuedouble) <= (double)FLT_MAX)) {
            gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                       "tokenizer.json: token %zu of Unigram is not a text and a finite score", id);
            return;
        }
        set_token(t, id, text->valuestring);
        t->scores[id] = (float)score->valuedouble;
    }
}

static void read_numbered(struct gi_hf_tokenizer *t, const cJSON *vocab)
{
    for (const cJSON *token = vocab->child; token; token = token->next) {
        set_token(t, (size_t)token->valuedouble, token->string);
    }
}

static void read_added(struct gi_hf_tokenizer *t, const cJSON *added)
{
    for (const cJSON *token = added ? added->child : NULL; token; token = token->next) {
        const size_t id = (size_t)cJSON_GetObjectItemCaseSensitive(token, "id")->valuedouble;
        const char *text = gi_hf_member_text(token, "content", "");
        if (id >= t->n_tokens || !*text) {
            continue;
        }
        const struct gi_gguf_string *there = &t->tokens[id];
        if (there->size &&
            (there->size != strlen(text) || memcmp(there->data, text, there->size) != 0)) {
            gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                       "tokenizer.json: the added token '%.64s' has the id %zu of another token",
                       text, id);
            return;
        }
        t->tokens[id] = (struct gi_gguf_string){text, strlen(text)};
        t->types[id] = gi_hf_member_bool(t, token, "special", false) ? CONTROL : USER_DEFINED;
    }
}

// Sets the type of the token for unknown text.
static void mark_unknown(struct gi_hf_tokenizer *t)
{
    const char *text = gi_hf_member_text(t->model, "unk_token", NULL);
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(t->model, "unk_id");
    uint64_t count = UINT64_MAX;
    if (t->type == GI_HF_UNIGRAM && gi_hf_json_count(number, &count)) {
        t->unknown = count < t->n_tokens ? (int32_t)count : -1;
    } else if (t->type != GI_HF_UNIGRAM && text) {
        t->unknown = gi_hf_find_token(t, text);
    }
    if (t->unknown >= 0 && !t->is_byte_level) {
        t->types[t->unknown] = UNKNOWN;
    }
}

void gi_hf_read_tokens(struct gi_hf_tokenizer *t)
{
    const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(t->model, "vocab");
    const cJSON *added = cJSON_GetObjectItemCaseSensitive(t->file, "added_tokens");
    const bool is_unigram = t->type == GI_HF_UNIGRAM;
    if (!(is_unigram ? cJSON_IsArray(vocab) : cJSON_IsObject(vocab)) ||
        (added && !cJSON_IsArray(added))) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: \"vocab\" or \"added_tokens\" is not a list");
        return;
    }
    t->unknown = -1;
    t->n_tokens = gi_hf_ok(t->b) ? count_rows(t, vocab, added) : 0;
    t->tokens = gi_hf_zeroed(t, t->n_tokens, sizeof(*t->tokens));
    t->types = gi_hf_zeroed(t, t->n_tokens, sizeof(*t->types));
    t->scores = is_unigram ? gi_hf_zeroed(t, t->n_tokens, sizeof(*t->scores)) : NULL;
    if (!gi_hf_ok(t->b)) {
        return;
    }
    if (is_unigram) {
        read_scored(t, vocab);
    } else {
        read_numbered(t, vocab);
    }
    if (gi_hf_ok(t->b)) {
        read_added(t, added);
    }
    if (gi_hf_ok(t->b)) {
        mark_unknown(t);
    }
}

int32_t gi_hf_find_token(const struct gi_hf_tokenizer *t, const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = t->n_tokens; i-- > 0;) {
        if (size && t->tokens[i].size == size && memcmp(t->tokens[i].data, text, size) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

//-- spelling ----------------------------------------------------------------------------------

static void spell(struct gi_hf_tokenizer *t, struct gi_hf_text *out, size_t *size,
                  const char *start, const struct gi_gguf_string *text)
{
    const size_t begin = out->count;
    gi_hf_push(t, out, start, strlen(start));
    gi_hf_push(t, out, text->data, text->size);
    *size = out->count - begin;
}

// Spells a token of WordPiece as llama.cpp does: U+2581 begins a word, and nothing the others.
static void spell_piece(struct gi_hf_tokenizer *t, size_t id, const char *prefix, size_t *size)
{
    struct gi_gguf_string token = t->tokens[id];
    const size_t n = strlen(prefix);
    const bool goes_on = n && token.size >= n && memcmp(token.data, prefix, n) == 0;
    if (goes_on) {
        token.data += n;
        token.size -= n;
    }
    spell(t, &t->spelled, size, goes_on ? "" : "\u2581", &token);
}

// Names ids that no token has, and spells those of WordPiece.
static void spell_tokens(struct gi_hf_tokenizer *t)
{
    const char *prefix = gi_hf_member_text(t->model, "continuing_subword_prefix", "##");
    size_t *sizes = gi_hf_zeroed(t, t->n_tokens, sizeof(*sizes));
    for (size_t id = 0; sizes && id < t->n_tokens && gi_hf_ok(t->b); id++) {
        char name[32];
        if (!t->types[id]) {
            snprintf(name, sizeof(name), "[PAD%zu]", id);
            spell(t, &t->spelled, &sizes[id], name, &(struct gi_gguf_string){0});
            t->types[id] = UNUSED;
        } else if (t->type == GI_HF_WORDPIECE && t->types[id] == NORMAL) {
            spell_piece(t, id, prefix, &sizes[id]);
        } else {
            continue;
        }
        t->tokens[id] = (struct gi_gguf_string){NULL, sizes[id]};
    }
    size_t begin = 0;
    for (size_t id = 0; sizes && id < t->n_tokens && gi_hf_ok(t->b); id++) {
        if (sizes[id]) {
            t->tokens[id].data = t->spelled.data + begin;
            begin += sizes[id];
        }
    }
    free(sizes);
}

//-- merges ------------------------------------------------------------------------------------

struct merges {
    struct gi_gguf_string *data;
    struct gi_hf_text memory; // of those that were two texts
};

// Takes "a b", or joins ["a", "b"], whose place is set later.
static bool read_merge(struct gi_hf_tokenizer *t, const cJSON *merge, struct merges *merges,
                       struct gi_gguf_string *out)
{
    const cJSON *left = cJSON_IsArray(merge) ? merge->child : NULL;
    const cJSON *right = left ? left->next : NULL;
    if (cJSON_IsString(merge)) {
        *out = (struct gi_gguf_string){merge->valuestring, strlen(merge->valuestring)};
        return true;
    }
    if (!cJSON_IsString(left) || !cJSON_IsString(right) || right->next) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE,
                   "tokenizer.json: a merge is neither a text nor a list of two texts");
        return false;
    }
    const size_t begin = merges->memory.count;
    gi_hf_push(t, &merges->memory, left->valuestring, strlen(left->valuestring));
    gi_hf_push(t, &merges->memory, " ", 1);
    gi_hf_push(t, &merges->memory, right->valuestring, strlen(right->valuestring));
    out->size = merges->memory.count - begin;
    return gi_hf_ok(t->b);
}

static void add_merges(struct gi_hf_tokenizer *t)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(t->model, "merges");
    const size_t n = count_children(list);
    if (list && !cJSON_IsArray(list)) {
        gi_hf_fail(t->b, GLINFER_STATUS_BAD_FILE, "tokenizer.json: \"merges\" is not a list");
        return;
    }
    struct merges merges = {.data = gi_hf_zeroed(t, n, sizeof(*merges.data))};
    size_t i = 0, begin = 0;
    for (const cJSON *merge = list ? list->child : NULL;
         merges.data && merge && read_merge(t, merge, &merges, &merges.data[i]);
         merge = merge->next) {
        i++;
    }
    for (i = 0; gi_hf_ok(t->b) && i < n; i++) {
        if (!merges.data[i].data) {
            merges.data[i].data = merges.memory.data + begin;
            begin += merges.data[i].size;
        }
    }
    if (gi_hf_ok(t->b)) {
        gi_gguf_add_strings(t->b->out, "tokenizer.ggml.merges", merges.data, n);
    }
    free(merges.data);
    free(merges.memory.data);
}

//-- add ---------------------------------------------------------------------------------------

// Scores of SentencePiece follow the order of the ids.
static void add_scores(struct gi_hf_tokenizer *t)
{
    if (!t->scores) {
        t->scores = gi_hf_zeroed(t, t->n_tokens, sizeof(*t->scores));
        for (size_t id = 0; t->scores && id < t->n_tokens; id++) {
            t->scores[id] = t->types[id] == NORMAL ? -(float)id : 0.0f;
        }
    }
    if (t->scores) {
        gi_gguf_add_f32s(t->b->out, "tokenizer.ggml.scores", t->scores, t->n_tokens);
    }
}

static void add_added_tokens(struct gi_hf_tokenizer *t)
{
    const cJSON *added = cJSON_GetObjectItemCaseSensitive(t->file, "added_tokens");
    const size_t n_max = count_children(added);
    int32_t *ids = gi_hf_zeroed(t, n_max, sizeof(*ids));
    int32_t *rules = gi_hf_zeroed(t, n_max, sizeof(*rules));
    size_t n = 0;
    for (const cJSON *token = ids && rules && added ? added->child : NULL; token;
         token = token->next) {
        const bool is_special = gi_hf_member_bool(t, token, "special", false);
        const size_t id = (size_t)cJSON_GetObjectItemCaseSensitive(token, "id")->valuedouble;
        if (id < t->n_tokens && *gi_hf_member_text(token, "content", "")) {
            ids[n] = (int32_t)id;
            // enum gi_added_rule of src/tokenizer/tokenizer.h
            rules[n++] = (gi_hf_member_bool(t, token, "lstrip", false) ? 1 : 0) |
                         (gi_hf_member_bool(t, token, "rstrip", false) ? 2 : 0) |
                         (gi_hf_member_bool(t, token, "single_word", false) ? 4 : 0) |
                         (gi_hf_member_bool(t, token, "normalized", !is_special) ? 8 : 0);
        }
    }
    if (ids && rules) {
        gi_gguf_add_i32s(t->b->out, "glinfer.tokenizer.added", ids, n);
        gi_gguf_add_i32s(t->b->out, "glinfer.tokenizer.added_rules", rules, n);
    }
    free(ids);
    free(rules);
}

void gi_hf_add_tokens(struct gi_hf_tokenizer *t)
{
    spell_tokens(t);
    if (!gi_hf_ok(t->b)) {
        return;
    }
    gi_gguf_add_strings(t->b->out, "tokenizer.ggml.tokens", t->tokens, t->n_tokens);
    gi_gguf_add_i32s(t->b->out, "tokenizer.ggml.token_type", t->types, t->n_tokens);
    if (t->type == GI_HF_UNIGRAM || (t->type == GI_HF_BPE && !t->is_byte_level)) {
        add_scores(t);
    }
    if (t->type == GI_HF_BPE) {
        add_merges(t);
    }
    add_added_tokens(t);
}
