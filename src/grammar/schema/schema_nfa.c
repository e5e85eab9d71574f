#include "base/hash.h"
#include "base/index.h"
#include "grammar/schema/schema_automaton.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_POOL = 4000000 }; // nodes of a regular expression in all states

static const char purpose[] = "a schema's grammar";

void gi_nfa_finish(struct gi_nfa *nfa)
{
    free(nfa->nodes.data);
    free(nfa->ranges.data);
    memset(nfa, 0, sizeof(*nfa));
}

// Sets of nodes, each a state of the automaton.
struct subsets {
    struct gi_schema_compiler *c;
    const struct gi_nfa *nfa;
    struct {
        uint32_t *data; // the nodes of all sets, one after another, sorted
        size_t count, capacity;
    } pool;
    struct {
        struct subset {
            uint32_t first, count;
            bool has_match;
        } * data;
        size_t count, capacity;
    } sets;
    struct gi_index index; // of sets
    uint32_t *seen;        // of each node: the stamp of the last walk that met it
    uint32_t stamp;
    struct {
        uint32_t *data;
        size_t count, capacity;
    } todo;
};

static void begin_walk(struct subsets *s)
{
    s->stamp++;
    s->todo.count = 0;
}

static bool push(struct subsets *s, uint32_t node)
{
    if (s->seen[node] == s->stamp) {
        return true;
    }
    s->seen[node] = s->stamp;
    return GI_SCHEMA_PUSH(s->c, &s->todo, node);
}

// Walks on from the nodes that were pushed, without characters; adds what waits for one, or for the
// end, to the pool. Sets *has_match if a match is reached.
static bool walk(struct subsets *s, bool is_begin, bool is_end, bool *has_match)
{
    *has_match = false;
    for (size_t i = 0; i < s->todo.count; i++) {
        const uint32_t index = s->todo.data[i];
        const struct gi_nfa_node *node = &s->nfa->nodes.data[index];
        bool is_ok = true;
        switch (node->kind) {
        case GI_NFA_SPLIT:
            is_ok = push(s, node->next) && push(s, node->other);
            break;
        case GI_NFA_BEGIN:
            is_ok = !is_begin || push(s, node->next);
            break;
        case GI_NFA_MATCH:
            *has_match = true;
            break;
        default:
            if (node->kind == GI_NFA_END && is_end) {
                is_ok = push(s, node->next);
            } else if (!is_end) {
                is_ok = GI_SCHEMA_PUSH(s->c, &s->pool, index);
            }
        }
        if (!is_ok) {
            return false;
        }
    }
    return true;
}

static int compare_nodes(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

// Makes the nodes of the pool from first on a set; sets *index to the one that has these nodes and
// as much of a match.
static bool intern(struct subsets *s, uint32_t first, bool has_match, uint32_t *index)
{
    const struct subset set = {first, (uint32_t)s->pool.count - first, has_match};
    if (s->pool.count > MAX_POOL) {
        gi_schema_refuse(s->c, "this pattern needs an automaton that is too large");
        return false;
    }
    struct gi_hash hash;
    if (set.count > 1) {
        qsort(&s->pool.data[first], set.count, sizeof(uint32_t), compare_nodes);
    }
    gi_hash_init(&hash);
    gi_hash_add(&hash, set.count ? (const void *)&s->pool.data[first] : "",
                set.count * sizeof(uint32_t));
    const uint32_t key = (uint32_t)hash.lo ^ has_match;
    uint32_t step = 0;
    while ((*index = gi_index_next(&s->index, key, &step)) != GI_INDEX_END) {
        const struct subset *other = &s->sets.data[*index];
        if (other->has_match == has_match && other->count == set.count &&
            (set.count == 0 || memcmp(&s->pool.data[other->first], &s->pool.data[first],
                                      set.count * sizeof(uint32_t)) == 0)) {
            s->pool.count = first;
            return true;
        }
    }
    *index = (uint32_t)s->sets.count;
    return GI_SCHEMA_PUSH(s->c, &s->sets, set) &&
           gi_schema_note(s->c, gi_index_add(&s->index, key, *index, purpose, s->c->build.err));
}

// Returns true if the text may end in a set.
static bool find_end(struct subsets *s, uint32_t index, bool *is_end)
{
    const struct subset set = s->sets.data[index];
    begin_walk(s);
    for (uint32_t i = 0; i < set.count; i++) {
        if (!push(s, s->pool.data[set.first + i])) {
            return false;
        }
    }
    return walk(s, index == 0, true, is_end);
}

struct cuts {
    uint32_t *data; // code points at which what may follow changes
    size_t count, capacity;
};

static bool find_cuts(struct subsets *s, const struct subset *set, struct cuts *cuts)
{
    cuts->count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct gi_nfa_node *node = &s->nfa->nodes.data[s->pool.data[set->first + i]];
        for (uint32_t k = 0; node->kind == GI_NFA_CLASS && k < node->count; k++) {
            const struct gi_code_range range = s->nfa->ranges.data[node->first + k];
            if (!GI_SCHEMA_PUSH(s->c, cuts, range.lo) ||
                !GI_SCHEMA_PUSH(s->c, cuts, range.hi + 1)) {
                return false;
            }
        }
    }
    if (cuts->count > 0) {
        qsort(cuts->data, cuts->count, sizeof(uint32_t), compare_nodes);
    }
    return true;
}

static bool has_code(const struct gi_nfa *nfa, const struct gi_nfa_node *node, uint32_t code)
{
    for (uint32_t k = 0; node->kind == GI_NFA_CLASS && k < node->count; k++) {
        const struct gi_code_range range = nfa->ranges.data[node->first + k];
        if (range.lo <= code && code <= range.hi) {
            return true;
        }
    }
    return false;
}

// Adds the edges of a set, whose state is the last.
static bool add_subset_edges(struct subsets *s, struct gi_dfa *dfa, uint32_t index,
                             struct cuts *cuts)
{
    const struct subset set = s->sets.data[index];
    if (!find_cuts(s, &set, cuts)) {
        return false;
    }
    for (size_t i = 0; i + 1 < cuts->count; i++) {
        const uint32_t lo = cuts->data[i], end = cuts->data[i + 1];
        const uint32_t first = (uint32_t)s->pool.count;
        bool has_match, is_any = false;
        uint32_t to;
        if (lo == end) {
            continue;
        }
        begin_walk(s);
        for (uint32_t k = 0; k < set.count; k++) {
            const struct gi_nfa_node *node = &s->nfa->nodes.data[s->pool.data[set.first + k]];
            if (has_code(s->nfa, node, lo)) {
                is_any = true;
                if (!push(s, node->next)) {
                    return false;
                }
            }
        }
        if (is_any && (!walk(s, false, false, &has_match) || !intern(s, first, has_match, &to) ||
                       !gi_dfa_add_edge(s->c, dfa, lo, end - 1, to))) {
            return false;
        }
    }
    return true;
}

static bool construct(struct subsets *s, struct gi_dfa *dfa)
{
    struct cuts cuts = {0};
    bool has_match;
    uint32_t index;
    begin_walk(s);
    bool is_ok = push(s, s->nfa->start) && walk(s, true, false, &has_match) &&
                 intern(s, 0, has_match, &index);
    for (uint32_t i = 0; is_ok && i < s->sets.count; i++) {
        const bool is_matched = s->sets.data[i].has_match;
        bool is_end = false;
        is_ok = find_end(s, i, &is_end) && gi_dfa_add_state(s->c, dfa, is_end || is_matched) &&
                add_subset_edges(s, dfa, i, &cuts);
    }
    free(cuts.data);
    return is_ok;
}

const struct gi_dfa *gi_dfa_of_nfa(struct gi_schema_compiler *c, const struct gi_nfa *nfa)
{
    struct subsets s = {.c = c, .nfa = nfa};
    struct gi_dfa *dfa = gi_dfa_create(c);
    s.seen = gi_schema_zeroed(c, nfa->nodes.count, sizeof(*s.seen));
    const bool is_ok = dfa && s.seen && construct(&s, dfa);
    free(s.pool.data);
    free(s.sets.data);
    gi_index_finish(&s.index);
    free(s.seen);
    free(s.todo.data);
    return is_ok ? gi_dfa_tidy(c, dfa) : NULL;
}
