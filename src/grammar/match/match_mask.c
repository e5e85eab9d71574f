#include "grammar/match/match_mask.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

size_t gi_match_mask_bytes(const struct gi_grammar_vocab *vocab)
{
    return (vocab->n_tokens + 31) / 32 * sizeof(uint32_t);
}

static inline void set_bit(uint32_t *bits, uint32_t token)
{
    bits[token / 32] |= 1u << token % 32;
}

static inline void clear_bit(uint32_t *bits, uint32_t token)
{
    bits[token / 32] &= ~(1u << token % 32);
}

void gi_match_mask_fill(const struct gi_grammar_vocab *vocab, uint32_t *bits)
{
    memset(bits, 0xff, gi_match_mask_bytes(vocab));
    if (vocab->n_tokens % 32) {
        bits[vocab->n_tokens / 32] = (1u << vocab->n_tokens % 32) - 1;
    }
}

// Walks down the vocabulary's tree and along the graph at once; path[d] is the state before the
// byte of depth d. A subtree whose byte leads nowhere is skipped.
static bool walk_tree(struct gi_match_graph *graph, const struct gi_grammar_vocab *vocab,
                      uint32_t *path, uint32_t *bits)
{
    for (size_t i = 0; !graph->has_failed && i < vocab->n_nodes;) {
        const struct gi_vocab_node *node = &vocab->nodes[i];
        const uint32_t next = gi_match_step(graph, path[node->depth], node->byte);
        if (next == GI_MATCH_DEAD) {
            i = node->end;
            continue;
        }
        for (uint32_t k = 0; k < node->n_tokens; k++) {
            set_bit(bits, vocab->by_text[node->first_token + k]);
        }
        path[node->depth + 1] = next;
        i++;
    }
    return !graph->has_failed;
}

// Adds the tokens that the places of a state name, and the tokens that they do not exclude, except
// the tokens that end a text.
static void add_named(const struct gi_match_graph *graph, const struct gi_grammar_vocab *vocab,
                      const struct gi_match_state *state, uint32_t *bits)
{
    bool is_all = false;
    uint32_t excluded = UINT32_MAX; // by all places that exclude one
    for (size_t i = 0; i < state->n_places; i++) {
        const struct gi_node *node = &graph->grammar->nodes.data[state->places[i].node];
        if (node->kind == GI_NODE_TOKEN && node->a < vocab->n_tokens) {
            set_bit(bits, node->a);
        } else if (node->kind == GI_NODE_NOT_TOKEN) {
            excluded = !is_all || excluded == node->a ? node->a : UINT32_MAX;
            is_all = true;
        }
    }
    if (is_all) {
        const bool is_kept =
            excluded >= vocab->n_tokens || (bits[excluded / 32] >> excluded % 32 & 1);
        gi_match_mask_fill(vocab, bits);
        if (!is_kept) {
            clear_bit(bits, excluded);
        }
    }
    for (size_t i = 0; i < vocab->n_ends; i++) {
        clear_bit(bits, vocab->ends[i]);
    }
}

static bool has_bits(const uint32_t *bits, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++) {
        if (bits[i]) {
            return true;
        }
    }
    return false;
}

bool gi_match_mask_find(struct gi_match_graph *graph, const struct gi_grammar_vocab *vocab,
                        uint32_t state)
{
    static const char purpose[] = "a grammar's mask";
    const size_t size = gi_match_mask_bytes(vocab);
    struct gi_match_state *from = graph->states.data[state];
    uint32_t *bits, *path;
    if (graph->has_failed ||
        !GI_ARRAYS_ZEROED(purpose, graph->err, GI_NEW(bits, size / sizeof(*bits)),
                          GI_NEW(path, vocab->max_depth + 1))) {
        return false;
    }
    path[0] = state;
    bool is_ok = walk_tree(graph, vocab, path, bits);
    if (is_ok && from->has_tokens) {
        add_named(graph, vocab, from, bits);
    }
    for (size_t i = 0; is_ok && from->may_end && i < vocab->n_ends; i++) {
        set_bit(bits, vocab->ends[i]);
    }
    if (is_ok && !has_bits(bits, size / sizeof(*bits))) {
        is_ok = gi_error_set(graph->err, GLINFER_STATUS_INVALID_ARGUMENT,
                             "dead end of the grammar: no token of the vocabulary is allowed next");
    }
    if (is_ok) {
        from->mask = bits;
        graph->used += size;
    } else {
        free(bits);
    }
    free(path);
    return is_ok;
}
