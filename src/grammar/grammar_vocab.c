#include "grammar/grammar_vocab.h"

#include "base/array.h"
#include "grammar/grammar_vocab_tree.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 24, MAX_ALIKE = UINT16_MAX };

static const char purpose[] = "a grammar's vocabulary";

void gi_grammar_vocab_destroy(struct gi_grammar_vocab *vocab)
{
    if (!vocab) {
        return;
    }
    free(vocab->nodes);
    free(vocab->by_text);
    free(vocab->kinds);
    free(vocab->offsets);
    free(vocab->bytes);
    free(vocab->ends);
    free(vocab);
}

size_t gi_grammar_vocab_size(const struct gi_grammar_vocab *vocab)
{
    return vocab->n_tokens;
}

//-- copies ----------------------------------------------------------------------------------------

static bool check_tokens(const struct gi_grammar_token *tokens, size_t n_tokens, size_t *n_bytes,
                         struct glinfer_error *err)
{
    *n_bytes = 0;
    if (n_tokens > MAX_TOKENS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a vocabulary of %zu tokens has more than %d", n_tokens, MAX_TOKENS);
    }
    for (size_t i = 0; i < n_tokens; i++) {
        if (tokens[i].size > GI_GRAMMAR_MAX_TOKEN_SIZE) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "token %zu has %zu bytes, more than %d", i, tokens[i].size,
                                GI_GRAMMAR_MAX_TOKEN_SIZE);
        }
        *n_bytes += tokens[i].size;
    }
    return *n_bytes <= INT32_MAX || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                                 "the tokens have %zu bytes, too many", *n_bytes);
}

static bool copy_tokens(struct gi_grammar_vocab *vocab, const struct gi_grammar_token *tokens,
                        size_t n_bytes, struct glinfer_error *err)
{
    const size_t n = vocab->n_tokens;
    if (!GI_ARRAYS_ZEROED(purpose, err, GI_NEW(vocab->kinds, n), GI_NEW(vocab->offsets, n + 1),
                          GI_NEW(vocab->bytes, n_bytes), GI_NEW(vocab->by_text, n),
                          GI_NEW(vocab->ends, n))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        vocab->kinds[i] = (uint8_t)tokens[i].kind;
        if (tokens[i].size > 0) {
            memcpy(vocab->bytes + vocab->offsets[i], tokens[i].bytes, tokens[i].size);
        }
        vocab->offsets[i + 1] = vocab->offsets[i] + (uint32_t)tokens[i].size;
        if (tokens[i].kind == GI_GRAMMAR_TOKEN_END) {
            vocab->ends[vocab->n_ends++] = (uint32_t)i;
        }
    }
    return true;
}

//-- the tree --------------------------------------------------------------------------------------

struct text {
    const uint8_t *bytes;
    uint32_t size, id;
};

static int compare_texts(const void *a, const void *b)
{
    const struct text *left = a, *right = b;
    const uint32_t size = left->size < right->size ? left->size : right->size;
    const int order = memcmp(left->bytes, right->bytes, size);
    if (order != 0) {
        return order;
    }
    if (left->size != right->size) {
        return left->size < right->size ? -1 : 1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

static uint32_t shared_prefix(const struct text *a, const struct text *b)
{
    uint32_t n = 0;
    while (n < a->size && n < b->size && a->bytes[n] == b->bytes[n]) {
        n++;
    }
    return n;
}

// Adds the bytes of a text that the one before it does not share. path[d] is the last node of depth
// d; nodes that a new one is not below end there.
static void add_text(struct gi_grammar_vocab *vocab, const struct text *text, uint32_t n_shared,
                     uint32_t n_path, uint32_t *path)
{
    for (uint32_t d = n_shared; d < n_path; d++) {
        vocab->nodes[path[d]].end = (uint32_t)vocab->n_nodes;
    }
    for (uint32_t d = n_shared; d < text->size; d++) {
        path[d] = (uint32_t)vocab->n_nodes;
        vocab->nodes[vocab->n_nodes++] =
            (struct gi_vocab_node){.depth = (uint16_t)d, .byte = text->bytes[d]};
    }
}

static bool build_tree(struct gi_grammar_vocab *vocab, const struct text *texts, size_t n,
                       struct glinfer_error *err)
{
    uint32_t path[GI_GRAMMAR_MAX_TOKEN_SIZE] = {0}, n_path = 0;
    size_t n_nodes = 0;
    for (size_t i = 0; i < n; i++) {
        n_nodes += texts[i].size - (i > 0 ? shared_prefix(&texts[i - 1], &texts[i]) : 0);
    }
    vocab->nodes = gi_array_zeroed(n_nodes, sizeof(*vocab->nodes), purpose, err);
    if (!vocab->nodes) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct text *text = &texts[i];
        const uint32_t n_shared = i > 0 ? shared_prefix(text - 1, text) : 0;
        add_text(vocab, text, n_shared, n_path, path);
        n_path = text->size;
        struct gi_vocab_node *last = &vocab->nodes[path[n_path - 1]];
        last->first_token = last->n_tokens == 0 ? (uint32_t)i : last->first_token;
        if (last->n_tokens++ == MAX_ALIKE) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "more than %d tokens have the same text", MAX_ALIKE);
        }
        vocab->by_text[i] = text->id;
        vocab->max_depth = n_path > vocab->max_depth ? n_path : vocab->max_depth;
    }
    for (uint32_t d = 0; d < n_path; d++) {
        vocab->nodes[path[d]].end = (uint32_t)vocab->n_nodes;
    }
    return true;
}

static bool sort_and_build(struct gi_grammar_vocab *vocab, struct glinfer_error *err)
{
    size_t n = 0;
    struct text *texts = gi_array_zeroed(vocab->n_tokens, sizeof(*texts), purpose, err);
    if (!texts) {
        return false;
    }
    for (uint32_t i = 0; i < vocab->n_tokens; i++) {
        const uint32_t size = vocab->offsets[i + 1] - vocab->offsets[i];
        if (vocab->kinds[i] == GI_GRAMMAR_TOKEN_TEXT && size > 0) {
            texts[n++] = (struct text){vocab->bytes + vocab->offsets[i], size, i};
        }
    }
    qsort(texts, n, sizeof(*texts), compare_texts);
    const bool is_ok = build_tree(vocab, texts, n, err);
    free(texts);
    return is_ok;
}

struct gi_grammar_vocab *gi_grammar_vocab_create(const struct gi_grammar_token *tokens,
                                                 size_t n_tokens, struct glinfer_error *err)
{
    size_t n_bytes;
    if (!check_tokens(tokens, n_tokens, &n_bytes, err)) {
        return NULL;
    }
    struct gi_grammar_vocab *vocab = gi_array_zeroed(1, sizeof(*vocab), purpose, err);
    if (!vocab) {
        return NULL;
    }
    vocab->n_tokens = n_tokens;
    if (!copy_tokens(vocab, tokens, n_bytes, err) || !sort_and_build(vocab, err)) {
        gi_grammar_vocab_destroy(vocab);
        return NULL;
    }
    return vocab;
}
