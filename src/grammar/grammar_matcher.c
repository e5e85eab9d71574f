#include "grammar/grammar_matcher.h"

#include "base/array.h"
#include "grammar/grammar_vocab_tree.h"
#include "grammar/match/match_graph.h"
#include "grammar/match/match_mask.h"
#include "grammar/match/match_trigger.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar's matcher";

struct gi_grammar_matcher {
    struct gi_match_graph graph;
    const struct gi_grammar_vocab *vocab; // borrowed, or NULL
    struct gi_match_triggers triggers;
    uint32_t begin; // where a text begins; used
};

//-- the matcher -----------------------------------------------------------------------------------

struct gi_grammar_matcher *gi_grammar_matcher_create(const struct gi_grammar_matcher_params *params,
                                                     struct glinfer_error *err)
{
    enum { DEFAULT_MEMORY = 32 << 20 };
    struct gi_grammar_matcher *matcher = gi_array_zeroed(1, sizeof(*matcher), purpose, err);
    if (!matcher) {
        return NULL;
    }
    struct gi_match_graph *graph = &matcher->graph;
    const struct gi_grammar *grammar = params->grammar;
    matcher->vocab = params->vocab;
    const bool ok =
        gi_match_triggers_init(&matcher->triggers, params, err) &&
        gi_match_graph_init(graph, grammar, params->memory ? params->memory : DEFAULT_MEMORY, err);
    if (ok) {
        gi_match_set_begin(graph);
        gi_match_set_add(graph, grammar->rules.data[grammar->root], 0);
        matcher->begin = gi_match_set_end(graph);
    }
    if (!ok || graph->has_failed) {
        gi_grammar_matcher_destroy(matcher);
        return NULL;
    }
    graph->states.data[matcher->begin]->n_uses++;
    return matcher;
}

void gi_grammar_matcher_destroy(struct gi_grammar_matcher *matcher)
{
    if (matcher) {
        gi_match_triggers_finish(&matcher->triggers);
        gi_match_graph_finish(&matcher->graph);
        free(matcher);
    }
}

static struct gi_match_state *state_of(const struct gi_grammar_state *state)
{
    return state->matcher->graph.states.data[state->id];
}

//-- states ----------------------------------------------------------------------------------------

void gi_grammar_state_init(struct gi_grammar_state *state, struct gi_grammar_matcher *matcher)
{
    state->matcher = matcher;
    state->id = matcher->begin;
    state->is_waiting = matcher->triggers.n_words + matcher->triggers.n_tokens > 0;
    state->n_tail = 0;
    state_of(state)->n_uses++;
}

void gi_grammar_state_copy(struct gi_grammar_state *to, const struct gi_grammar_state *from)
{
    *to = *from;
    state_of(to)->n_uses++;
}

void gi_grammar_state_finish(struct gi_grammar_state *state)
{
    if (state->matcher) {
        state_of(state)->n_uses--;
        state->matcher = NULL;
    }
}

// Takes over where a text has led to, unless the call has failed or the text is not allowed.
static bool move_to(struct gi_grammar_state *state, const struct gi_grammar_state *to)
{
    const struct gi_match_graph *graph = &state->matcher->graph;
    if (graph->has_failed || to->id == GI_MATCH_DEAD) {
        return !graph->has_failed && gi_error_set(graph->err, GLINFER_STATUS_INVALID_ARGUMENT,
                                                  "the grammar does not allow this text here");
    }
    state_of(to)->n_uses++;
    state_of(state)->n_uses--;
    *state = *to;
    return true;
}

bool gi_grammar_may_end(const struct gi_grammar_state *state)
{
    return state->is_waiting || state_of(state)->may_end;
}

//-- text ------------------------------------------------------------------------------------------

// Walks over bytes; GI_MATCH_DEAD where the grammar does not allow them.
static void walk(struct gi_grammar_state *state, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && state->id != GI_MATCH_DEAD; i++) {
        state->id = gi_match_step(&state->matcher->graph, state->id, (uint8_t)bytes[i]);
    }
}

// Appends bytes to a text that may be waiting for a trigger, which begins the grammar.
static void append(struct gi_grammar_state *state, const char *bytes, size_t size)
{
    while (state->is_waiting && size > 0) {
        size_t n_word = 0;
        const size_t n =
            gi_match_triggers_find(&state->matcher->triggers, state, bytes, size, &n_word);
        bytes += n;
        size -= n;
        if (n_word > 0) {
            state->is_waiting = false;
            walk(state, state->tail + state->n_tail - n_word, n_word);
        }
    }
    walk(state, bytes, size);
}

bool gi_grammar_accept_bytes(struct gi_grammar_state *state, const char *bytes, size_t size,
                             struct glinfer_error *err)
{
    struct gi_grammar_state to = *state;
    gi_match_begin(&state->matcher->graph, err);
    append(&to, bytes, size);
    return move_to(state, &to);
}

//-- tokens ----------------------------------------------------------------------------------------

static bool is_taken(const struct gi_node *node, uint32_t token)
{
    return (node->kind == GI_NODE_TOKEN && node->a == token) ||
           (node->kind == GI_NODE_NOT_TOKEN && node->a != token);
}

// Adds where the places of `from` that ask for tokens lead to, to where the token's text has led
// to.
static uint32_t add_token_places(struct gi_match_graph *graph, uint32_t from, uint32_t token,
                                 uint32_t id)
{
    const struct gi_match_state *state = graph->states.data[from];
    gi_match_set_begin(graph);
    for (size_t i = 0; i < state->n_places; i++) {
        const struct gi_place *place = &state->places[i];
        const struct gi_node *node = &graph->grammar->nodes.data[place->node];
        if (is_taken(node, token)) {
            gi_match_set_add(graph, node->next, place->frame);
        }
    }
    gi_match_set_add_state(graph, id);
    return gi_match_set_end(graph);
}

static void accept_token(struct gi_grammar_state *state, uint32_t token)
{
    const struct gi_grammar_vocab *vocab = state->matcher->vocab;
    struct gi_match_graph *graph = &state->matcher->graph;
    const char *bytes = (const char *)vocab->bytes + vocab->offsets[token];
    const bool has_text = vocab->kinds[token] == GI_GRAMMAR_TOKEN_TEXT;
    const size_t size = has_text ? vocab->offsets[token + 1] - vocab->offsets[token] : 0;
    if (state->is_waiting) {
        if (!gi_match_triggers_has_token(&state->matcher->triggers, token)) {
            append(state, bytes, size);
            return;
        }
        state->is_waiting = false;
    }
    const uint32_t from = state->id;
    state->id = size == 0 ? GI_MATCH_DEAD : from;
    walk(state, bytes, size);
    if (graph->states.data[from]->has_tokens) {
        state->id = add_token_places(graph, from, token, state->id);
    }
}

bool gi_grammar_accept(struct gi_grammar_state *state, int32_t token, struct glinfer_error *err)
{
    const struct gi_grammar_vocab *vocab = state->matcher->vocab;
    if (!vocab || token < 0 || (size_t)token >= vocab->n_tokens) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "token %d is not in the grammar's vocabulary", (int)token);
    }
    if (vocab->kinds[token] == GI_GRAMMAR_TOKEN_END) {
        return gi_grammar_may_end(state) ||
               gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the grammar does not allow the text to end here");
    }
    struct gi_grammar_state to = *state;
    gi_match_begin(&state->matcher->graph, err);
    accept_token(&to, (uint32_t)token);
    return move_to(state, &to);
}

//-- masks -----------------------------------------------------------------------------------------

bool gi_grammar_mask(struct gi_grammar_state *state, uint32_t *bits, struct glinfer_error *err)
{
    const struct gi_grammar_vocab *vocab = state->matcher->vocab;
    struct gi_match_graph *graph = &state->matcher->graph;
    if (!vocab) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the grammar has no vocabulary");
    }
    if (state->is_waiting) {
        gi_match_mask_fill(vocab, bits);
        return true;
    }
    const size_t size = gi_match_mask_bytes(vocab);
    if (!state_of(state)->mask) {
        gi_match_begin(graph, err);
        if (!gi_match_mask_find(graph, vocab, state->id)) {
            return false;
        }
    }
    memcpy(bits, state_of(state)->mask, size);
    return true;
}
