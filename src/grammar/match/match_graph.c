#include "grammar/match/match_graph.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORK = 1 << 26 };

static const char purpose[] = "a grammar's states";

static bool fail_size(struct gi_match_graph *graph, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "the grammar needs more than %zu MiB or too long at this place of the "
                        "text: it is too ambiguous or nested too deep",
                        graph->memory >> 20);
}

static size_t frame_bytes(const struct gi_match_graph *graph)
{
    // A table that has just grown has four slots for each frame.
    return graph->frames.count * (sizeof(struct gi_frame) + 4 * sizeof(struct gi_index_slot));
}

static bool check_size(struct gi_match_graph *graph, size_t more, struct glinfer_error *err)
{
    return (graph->used + frame_bytes(graph) + more <= graph->memory && graph->work <= MAX_WORK) ||
           fail_size(graph, err);
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

// Sets *id to the number of a state without places, which is made.
static bool take_number(struct gi_match_graph *graph, uint32_t *id, struct glinfer_error *err)
{
    if (graph->unused.count > 0) {
        *id = graph->unused.data[--graph->unused.count];
        return true;
    }
    *id = (uint32_t)graph->states.count;
    return GI_ARRAY_PUSH(&graph->states, purpose, err, NULL);
}

static struct gi_match_state *make_state(struct gi_match_graph *graph,
                                         const struct gi_place *places, size_t count,
                                         struct glinfer_error *err)
{
    const size_t size = state_bytes(graph, count);
    struct gi_match_state *state = gi_array_zeroed(1, size, purpose, err);
    if (!state) {
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

static bool intern(struct gi_match_graph *graph, const struct gi_place *places, size_t count,
                   uint32_t *id, struct glinfer_error *err)
{
    const uint32_t hash = hash_places(places, count);
    uint32_t step = 0;
    while ((*id = gi_index_next(&graph->index, hash, &step)) != GI_INDEX_END) {
        if (has_places(graph->states.data[*id], places, count)) {
            return true;
        }
    }
    if (!check_size(graph, state_bytes(graph, count), err)) {
        return false;
    }
    struct gi_match_state *state = make_state(graph, places, count, err);
    if (!state || !take_number(graph, id, err) ||
        !gi_index_add(&graph->index, hash, *id, purpose, err)) {
        graph->used -= state ? state_bytes(graph, count) : 0;
        free(state);
        return false;
    }
    graph->states.data[*id] = state;
    return true;
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

static bool grow_seen(struct gi_match_graph *graph, struct glinfer_error *err)
{
    const struct gi_frame *old = graph->seen.data;
    const uint32_t *old_stamps = graph->seen.stamps;
    const size_t n_old = graph->seen.n_slots, n_slots = n_old ? n_old * 2 : 64;
    struct gi_frame *data = gi_array_zeroed(n_slots, sizeof(*data), purpose, err);
    uint32_t *stamps = gi_array_zeroed(n_slots, sizeof(*stamps), purpose, err);
    if (!data || !stamps) {
        free(data);
        free(stamps);
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

// Sets *is_new if the set has not looked at the item yet.
static bool mark_seen(struct gi_match_graph *graph, struct gi_frame item, bool *is_new,
                      struct glinfer_error *err)
{
    graph->work++;
    if (!check_size(graph, graph->seen.count * sizeof(struct gi_place), err) ||
        (graph->seen.count * 2 >= graph->seen.n_slots && !grow_seen(graph, err))) {
        return false;
    }
    const size_t at = seen_slot(graph, item);
    *is_new = graph->seen.stamps[at] != graph->seen.stamp;
    if (*is_new) {
        graph->seen.stamps[at] = graph->seen.stamp;
        graph->seen.data[at] = item;
        graph->seen.count++;
    }
    return true;
}

static bool push(struct gi_match_graph *graph, uint32_t node, uint32_t frame,
                 struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(&graph->todo, purpose, err, (struct gi_frame){node, frame});
}

static bool add_place(struct gi_match_graph *graph, uint32_t node, uint32_t progress,
                      uint32_t frame, struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(&graph->set, purpose, err, (struct gi_place){node, progress, frame});
}

// Adds where an item leads to; the last call of a rule leaves nothing on the stack.
static bool look_at(struct gi_match_graph *graph, struct gi_frame item, struct glinfer_error *err)
{
    const struct gi_node *node = &graph->grammar->nodes.data[item.node];
    uint32_t frame = item.below;
    switch (node->kind) {
    case GI_NODE_END:
        return frame == 0 ? add_place(graph, item.node, 0, 0, err)
                          : push(graph, graph->frames.data[frame].node,
                                 graph->frames.data[frame].below, err);
    case GI_NODE_SPLIT:
        return push(graph, node->next, frame, err) && push(graph, node->a, frame, err);
    case GI_NODE_CALL:
        return (node->next == 0 ||
                gi_match_frames_push(&graph->frames, node->next, frame, &frame, err)) &&
               push(graph, graph->grammar->rules.data[node->a], frame, err);
    case GI_NODE_CHAR:
        return add_place(graph, item.node, node->a, frame, err);
    default:
        return add_place(graph, item.node, 0, frame, err);
    }
}

bool gi_match_set_add(struct gi_match_graph *graph, uint32_t node, uint32_t frame,
                      struct glinfer_error *err)
{
    graph->todo.count = 0;
    if (!push(graph, node, frame, err)) {
        return false;
    }
    while (graph->todo.count > 0) {
        const struct gi_frame item = graph->todo.data[--graph->todo.count];
        bool is_new;
        if (!mark_seen(graph, item, &is_new, err) || (is_new && !look_at(graph, item, err))) {
            return false;
        }
    }
    return true;
}

bool gi_match_set_add_state(struct gi_match_graph *graph, uint32_t state, struct glinfer_error *err)
{
    const struct gi_match_state *from = graph->states.data[state];
    for (size_t i = 0; i < from->n_places; i++) {
        const struct gi_place *place = &from->places[i];
        if (!add_place(graph, place->node, place->progress, place->frame, err)) {
            return false;
        }
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct gi_place *left = a, *right = b;
    const uint64_t l = (uint64_t)left->node << 32 | left->frame;
    const uint64_t r = (uint64_t)right->node << 32 | right->frame;
    return l != r ? (l > r) - (l < r)
                  : (left->progress > right->progress) - (left->progress < right->progress);
}

bool gi_match_set_end(struct gi_match_graph *graph, uint32_t *state, struct glinfer_error *err)
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
    return intern(graph, places, n, state, err);
}

bool gi_match_find_next(struct gi_match_graph *graph, uint32_t state, uint8_t byte_class,
                        struct glinfer_error *err)
{
    const struct gi_grammar *grammar = graph->grammar;
    const struct gi_match_state *from = graph->states.data[state];
    const uint8_t byte = grammar->bytes_of[byte_class];
    uint32_t next;
    gi_match_set_begin(graph);
    graph->work += from->n_places;
    for (size_t i = 0; i < from->n_places; i++) {
        const struct gi_place *place = &from->places[i];
        const struct gi_node *node = &grammar->nodes.data[place->node];
        if (node->kind != GI_NODE_CHAR) {
            continue;
        }
        const uint32_t progress = gi_char_automata_step(&grammar->automata, place->progress, byte);
        if (progress == GI_CHAR_REFUSED) {
            continue;
        }
        if (!(progress == 0 ? gi_match_set_add(graph, node->next, place->frame, err)
                            : add_place(graph, place->node, progress, place->frame, err))) {
            return false;
        }
    }
    if (!gi_match_set_end(graph, &next, err)) {
        return false;
    }
    graph->states.data[state]->next[byte_class] = next;
    return true;
}

//-- the whole -------------------------------------------------------------------------------------

bool gi_match_graph_init(struct gi_match_graph *graph, const struct gi_grammar *grammar,
                         size_t memory, struct glinfer_error *err)
{
    uint32_t dead;
    graph->grammar = grammar;
    graph->memory = memory;
    if (!gi_match_frames_init(&graph->frames, err) ||
        !GI_ARRAY_PUSH(&graph->states, purpose, err, NULL)) {
        return false;
    }
    gi_match_set_begin(graph);
    return gi_match_set_end(graph, &dead, err);
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
static bool forget(struct gi_match_graph *graph, struct glinfer_error *err)
{
    uint32_t *new_of = gi_array_zeroed(graph->frames.count, sizeof(*new_of), purpose, err);
    if (!new_of || !GI_ARRAY_RESERVE(&graph->unused, graph->states.count, purpose, err)) {
        free(new_of);
        return false;
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
    return true;
}

bool gi_match_begin(struct gi_match_graph *graph, struct glinfer_error *err)
{
    graph->work = 0;
    return graph->used + frame_bytes(graph) <= graph->memory / 2 || forget(graph, err);
}
