#include "grammar/match/match_graph.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORK = 1 << 26 };

static const char purpose[] = "a grammar's states";

// Notes whether something has succeeded; returns true if nothing has failed.
static bool note(struct gi_match_graph *graph, bool is_done)
{
    graph->has_failed = graph->has_failed || !is_done;
    return !graph->has_failed;
}

static size_t frame_bytes(const struct gi_match_graph *graph)
{
    // A table that has just grown has four slots for each frame.
    return graph->frames.count * (sizeof(struct gi_frame) + 4 * sizeof(struct gi_index_slot));
}

static bool check_size(struct gi_match_graph *graph, size_t more)
{
    const bool is_large = graph->used + frame_bytes(graph) + more > graph->memory;
    if (!graph->has_failed && (is_large || graph->work > MAX_WORK)) {
        gi_error_set(graph->err, GLINFER_STATUS_UNSUPPORTED,
                     "the grammar needs more than %zu MiB or too long at this place of the text: "
                     "it is too ambiguous or nested too deep",
                     graph->memory >> 20);
        graph->has_failed = true;
    }
    return !graph->has_failed;
}

//-- states ----------------------------------------------------------------------------------------

static size_t state_bytes(const struct gi_match_graph *graph, size_t n_places)
{
    return sizeof(struct gi_match_state) + graph->grammar->n_classes * sizeof(uint32_t) +
           n_places * sizeof(struct gi_place);
}

static uint32_t hash_places(const struct gi_place *places, size_t count)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ places[i].node) * 0xc2b2ae3d27d4eb4fu;
        hash = (hash ^ hash >> 29 ^ places[i].progress) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29 ^ places[i].frame) * 0xc2b2ae3d27d4eb4fu;
    }
    return (uint32_t)(hash >> 32);
}

static bool is_equal(const struct gi_place *a, const struct gi_place *b)
{
    return a->node == b->node && a->progress == b->progress && a->frame == b->frame;
}

static bool has_places(const struct gi_match_state *state, const struct gi_place *places,
                       size_t count)
{
    for (size_t i = 0; i < count && state->n_places == count; i++) {
        if (!is_equal(&state->places[i], &places[i])) {
            return false;
        }
    }
    return state->n_places == count;
}

// Returns the number of a new state.
static uint32_t take_number(struct gi_match_graph *graph)
{
    if (graph->unused.count > 0) {
        return graph->unused.data[--graph->unused.count];
    }
    note(graph, GI_ARRAY_PUSH(&graph->states, purpose, graph->err, NULL));
    return (uint32_t)graph->states.count - 1;
}

static struct gi_match_state *make_state(struct gi_match_graph *graph,
                                         const struct gi_place *places, size_t count)
{
    const size_t size = state_bytes(graph, count);
    struct gi_match_state *state = gi_array_zeroed(1, size, purpose, graph->err);
    if (!note(graph, state)) {
        return NULL;
    }
    graph->used += size;
    state->n_places = count;
    state->places = (struct gi_place *)&state->next[graph->grammar->n_classes];
    for (size_t i = 0; i < count; i++) {
        const enum gi_node_kind kind = graph->grammar->nodes.data[places[i].node].kind;
        state->places[i] = places[i];
        state->may_end |= kind == GI_NODE_END;
        state->has_tokens |= kind == GI_NODE_TOKEN || kind == GI_NODE_NOT_TOKEN;
    }
    return state;
}

static uint32_t intern(struct gi_match_graph *graph, const struct gi_place *places, size_t count)
{
    const uint32_t hash = hash_places(places, count);
    uint32_t step = 0, id;
    while ((id = gi_index_next(&graph->index, hash, &step)) != GI_INDEX_END) {
        if (has_places(graph->states.data[id], places, count)) {
            return id;
        }
    }
    struct gi_match_state *state =
        check_size(graph, state_bytes(graph, count)) ? make_state(graph, places, count) : NULL;
    if (!state) {
        return GI_MATCH_DEAD;
    }
    id = take_number(graph);
    if (graph->has_failed ||
        !note(graph, gi_index_add(&graph->index, hash, id, purpose, graph->err))) {
        graph->used -= state_bytes(graph, count);
        free(state);
        return GI_MATCH_DEAD;
    }
    graph->states.data[id] = state;
    return id;
}

//-- sets ------------------------------------------------------------------------------------------

void gi_match_set_begin(struct gi_match_graph *graph)
{
    graph->set.count = 0;
    graph->seen.count = 0;
    graph->seen.stamp++;
    if (graph->seen.stamp == 0) {
        memset(graph->seen.stamps, 0, graph->seen.n_slots * sizeof(*graph->seen.stamps));
        graph->seen.stamp = 1;
    }
}

static size_t seen_slot(const struct gi_match_graph *graph, struct gi_frame item)
{
    const uint64_t mixed = (item.node * 0x9e3779b97f4a7c15u) ^ (item.below * 0xc2b2ae3d27d4eb4fu);
    size_t at = (size_t)(mixed >> 32) & (graph->seen.n_slots - 1);
    while (graph->seen.stamps[at] == graph->seen.stamp &&
           (graph->seen.data[at].node != item.node || graph->seen.data[at].below != item.below)) {
        at = (at + 1) & (graph->seen.n_slots - 1);
    }
    return at;
}

static bool grow_seen(struct gi_match_graph *graph)
{
    const struct gi_frame *old = graph->seen.data;
    const uint32_t *old_stamps = graph->seen.stamps;
    const size_t n_old = graph->seen.n_slots, n_slots = n_old ? n_old * 2 : 64;
    struct gi_frame *data;
    uint32_t *stamps;
    if (!note(graph, GI_ARRAYS_ZEROED(purpose, graph->err, GI_NEW(data, n_slots),
                                      GI_NEW(stamps, n_slots)))) {
        return false;
    }
    graph->seen.data = data;
    graph->seen.stamps = stamps;
    graph->seen.n_slots = n_slots;
    for (size_t i = 0; i < n_old; i++) {
        if (old_stamps[i] == graph->seen.stamp) {
            const size_t at = seen_slot(graph, old[i]);
            data[at] = old[i];
            stamps[at] = graph->seen.stamp;
        }
    }
    free((void *)old);
    free((void *)old_stamps);
    return true;
}

// Returns true if the set has not looked at the item yet.
static bool mark_seen(struct gi_match_graph *graph, struct gi_frame item)
{
    graph->work++;
    if (!check_size(graph, graph->seen.count * sizeof(struct gi_place)) ||
        (graph->seen.count * 2 >= graph->seen.n_slots && !grow_seen(graph))) {
        return false;
    }
    const size_t at = seen_slot(graph, item);
    if (graph->seen.stamps[at] == graph->seen.stamp) {
        return false;
    }
    graph->seen.stamps[at] = graph->seen.stamp;
    graph->seen.data[at] = item;
    graph->seen.count++;
    return true;
}

static void push(struct gi_match_graph *graph, uint32_t node, uint32_t frame)
{
    if (!graph->has_failed) {
        note(graph,
             GI_ARRAY_PUSH(&graph->todo, purpose, graph->err, (struct gi_frame){node, frame}));
    }
}

static void add_place(struct gi_match_graph *graph, uint32_t node, uint32_t progress,
                      uint32_t frame)
{
    if (!graph->has_failed) {
        note(graph, GI_ARRAY_PUSH(&graph->set, purpose, graph->err,
                                  (struct gi_place){node, progress, frame}));
    }
}

// Adds where an item leads to; the last call of a rule leaves nothing on the stack.
static void look_at(struct gi_match_graph *graph, struct gi_frame item)
{
    const struct gi_node *node = &graph->grammar->nodes.data[item.node];
    uint32_t frame = item.below;
    switch (node->kind) {
    case GI_NODE_END:
        if (frame == 0) {
            add_place(graph, item.node, 0, 0);
        } else {
            push(graph, graph->frames.data[frame].node, graph->frames.data[frame].below);
        }
        break;
    case GI_NODE_SPLIT:
        push(graph, node->next, frame);
        push(graph, node->a, frame);
        break;
    case GI_NODE_CALL:
        if (node->next != 0) {
            note(graph,
                 gi_match_frames_push(&graph->frames, node->next, frame, &frame, graph->err));
        }
        push(graph, graph->grammar->rules.data[node->a], frame);
        break;
    default:
        add_place(graph, item.node, node->kind == GI_NODE_CHAR ? node->a : 0, frame);
    }
}

void gi_match_set_add(struct gi_match_graph *graph, uint32_t node, uint32_t frame)
{
    graph->todo.count = 0;
    push(graph, node, frame);
    while (!graph->has_failed && graph->todo.count > 0) {
        const struct gi_frame item = graph->todo.data[--graph->todo.count];
        if (mark_seen(graph, item)) {
            look_at(graph, item);
        }
    }
}

void gi_match_set_add_state(struct gi_match_graph *graph, uint32_t state)
{
    const struct gi_match_state *from = graph->states.data[state];
    for (size_t i = 0; i < from->n_places; i++) {
        const struct gi_place *place = &from->places[i];
        add_place(graph, place->node, place->progress, place->frame);
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct gi_place *left = a, *right = b;
    const uint64_t l = (uint64_t)left->node << 32 | left->frame;
    const uint64_t r = (uint64_t)right->node << 32 | right->frame;
    return l != r ? (l > r) - (l < r)
                  : (left->progress > right->progress) - (left->progress < right->progress);
}

uint32_t gi_match_set_end(struct gi_match_graph *graph)
{
    struct gi_place *places = graph->set.data;
    size_t n = 0;
    if (graph->set.count > 1) {
        qsort(places, graph->set.count, sizeof(*places), compare_places);
    }
    for (size_t i = 0; i < graph->set.count; i++) {
        if (n == 0 || !is_equal(&places[n - 1], &places[i])) {
            places[n++] = places[i];
        }
    }
    return graph->has_failed ? GI_MATCH_DEAD : intern(graph, places, n);
}

uint32_t gi_match_find_next(struct gi_match_graph *graph, uint32_t state, uint8_t byte_class)
{
    const struct gi_grammar *grammar = graph->grammar;
    const struct gi_match_state *from = graph->states.data[state];
    const uint8_t byte = grammar->bytes_of[byte_class];
    gi_match_set_begin(graph);
    graph->work += from->n_places;
    for (size_t i = 0; i < from->n_places; i++) {
        const struct gi_place *place = &from->places[i];
        const struct gi_node *node = &grammar->nodes.data[place->node];
        if (node->kind != GI_NODE_CHAR) {
            continue;
        }
        const uint32_t progress = gi_char_automata_step(&grammar->automata, place->progress, byte);
        if (progress == 0) {
            gi_match_set_add(graph, node->next, place->frame);
        } else if (progress != GI_CHAR_REFUSED) {
            add_place(graph, place->node, progress, place->frame);
        }
    }
    const uint32_t next = gi_match_set_end(graph);
    if (!graph->has_failed) {
        graph->states.data[state]->next[byte_class] = next;
    }
    return next;
}

//-- the whole -------------------------------------------------------------------------------------

bool gi_match_graph_init(struct gi_match_graph *graph, const struct gi_grammar *grammar,
                         size_t memory, struct glinfer_error *err)
{
    graph->grammar = grammar;
    graph->memory = memory;
    graph->err = err;
    if (note(graph, gi_match_frames_init(&graph->frames, err) &&
                        GI_ARRAY_PUSH(&graph->states, purpose, err, NULL))) {
        gi_match_set_begin(graph);
        gi_match_set_end(graph);
    }
    return !graph->has_failed;
}

static void drop_state(struct gi_match_graph *graph, uint32_t id)
{
    free(graph->states.data[id]->mask);
    free(graph->states.data[id]);
    graph->states.data[id] = NULL;
}

void gi_match_graph_finish(struct gi_match_graph *graph)
{
    for (uint32_t i = GI_MATCH_DEAD; i < graph->states.count; i++) {
        if (graph->states.data[i]) {
            drop_state(graph, i);
        }
    }
    gi_match_frames_finish(&graph->frames);
    free(graph->states.data);
    free(graph->unused.data);
    gi_index_finish(&graph->index);
    free(graph->set.data);
    free(graph->todo.data);
    free(graph->seen.data);
    free(graph->seen.stamps);
    memset(graph, 0, sizeof(*graph));
}

// Forgets what a state has learned and marks its stacks as used.
static void strip_state(struct gi_match_graph *graph, struct gi_match_state *state,
                        uint32_t *new_of)
{
    free(state->mask);
    state->mask = NULL;
    memset(state->next, 0, graph->grammar->n_classes * sizeof(*state->next));
    graph->used += state_bytes(graph, state->n_places);
    for (size_t i = 0; i < state->n_places; i++) {
        new_of[state->places[i].frame] = 1;
    }
}

// Forgets the states that no text uses, and their stacks. Stacks keep their order, so that sets
// stay sorted.
static void forget(struct gi_match_graph *graph)
{
    uint32_t *new_of = gi_array_zeroed(graph->frames.count, sizeof(*new_of), purpose, graph->err);
    if (!note(graph, new_of && GI_ARRAY_RESERVE(&graph->unused, graph->states.count, purpose,
                                                graph->err))) {
        free(new_of);
        return;
    }
    graph->used = 0;
    for (uint32_t i = GI_MATCH_DEAD; i < graph->states.count; i++) {
        struct gi_match_state *state = graph->states.data[i];
        if (state && (state->n_uses > 0 || i == GI_MATCH_DEAD)) {
            strip_state(graph, state, new_of);
        } else if (state) {
            drop_state(graph, i);
            graph->unused.data[graph->unused.count++] = i;
        }
    }
    gi_match_frames_keep(&graph->frames, new_of);
    gi_index_clear(&graph->index);
    for (uint32_t i = GI_MATCH_DEAD; i < graph->states.count; i++) {
        struct gi_match_state *state = graph->states.data[i];
        for (size_t k = 0; state && k < state->n_places; k++) {
            state->places[k].frame = new_of[state->places[k].frame];
        }
        if (state) {
            gi_index_add(&graph->index, hash_places(state->places, state->n_places), i, purpose,
                         NULL);
        }
    }
    free(new_of);
}

void gi_match_begin(struct gi_match_graph *graph, struct glinfer_error *err)
{
    graph->work = 0;
    graph->err = err;
    graph->has_failed = false;
    if (graph->used + frame_bytes(graph) > graph->memory / 2) {
        forget(graph);
    }
}
