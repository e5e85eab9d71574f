#include "grammar/schema/schema_automaton.h"

#include "base/hash.h"
#include "base/index.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_EDGES = 400000,
    MAX_WORK = 4000000,   // edges that all automata of a grammar may have
    MAX_MINIMISED = 4000, // states of an automaton that is made minimal
    MAX_SIGNED = 60000,   // states that are looked at to make an automaton minimal
};

#define STOPPED UINT32_MAX // in place of a state: the text is not of that automaton

static const char purpose[] = "a schema's grammar";

bool gi_dfa_add_state(struct gi_schema_compiler *c, struct gi_dfa *dfa, bool is_end)
{
    const struct gi_dfa_state state = {(uint32_t)dfa->edges.count, 0, is_end};
    if (c->max_states > 0 && dfa->states.count >= c->max_states) {
        return false;
    }
    if (dfa->states.count == GI_DFA_MAX_STATES) {
        gi_schema_refuse(c, "this needs an automaton of more than %d states", GI_DFA_MAX_STATES);
        return false;
    }
    // Room for an edge, so that a state without edges has a place among them too.
    return GI_SCHEMA_RESERVE(c, &dfa->edges, 1) && GI_SCHEMA_PUSH(c, &dfa->states, state);
}

bool gi_dfa_add_edge(struct gi_schema_compiler *c, struct gi_dfa *dfa, uint32_t lo, uint32_t hi,
                     uint32_t to)
{
    struct gi_dfa_state *state = &dfa->states.data[dfa->states.count - 1];
    struct gi_dfa_edge *last = state->count ? &dfa->edges.data[dfa->edges.count - 1] : NULL;
    if (last && last->to == to && last->hi + 1 == lo) {
        last->hi = hi;
        return true;
    }
    if (dfa->edges.count == MAX_EDGES || c->work++ > MAX_WORK) {
        gi_schema_refuse(c, "this needs an automaton of more than %d edges", MAX_EDGES);
        return false;
    }
    state->count++;
    return GI_SCHEMA_PUSH(c, &dfa->edges, (struct gi_dfa_edge){lo, hi, to});
}

struct gi_dfa *gi_dfa_create(struct gi_schema_compiler *c)
{
    struct gi_dfa *dfa = gi_schema_zeroed(c, 1, sizeof(*dfa));
    if (dfa && !GI_SCHEMA_PUSH(c, &c->automata, dfa)) {
        free(dfa);
        return NULL;
    }
    return dfa;
}

static void clear(struct gi_dfa *dfa)
{
    free(dfa->states.data);
    free(dfa->edges.data);
    memset(dfa, 0, sizeof(*dfa));
}

void gi_schema_free_automata(struct gi_schema_compiler *c)
{
    for (size_t i = 0; i < c->automata.count; i++) {
        clear(c->automata.data[i]);
        free(c->automata.data[i]);
    }
    free(c->automata.data);
}

bool gi_dfa_is_empty(const struct gi_dfa *dfa)
{
    return dfa->states.count == 0;
}

bool gi_dfa_allows(const struct gi_dfa *dfa, const char *text)
{
    uint32_t at = 0;
    if (dfa->states.count == 0) {
        return false;
    }
    while (*text) {
        const uint32_t code = gi_utf8_take(&text);
        const struct gi_dfa_state *state = &dfa->states.data[at];
        const struct gi_dfa_edge *edge = &dfa->edges.data[state->first];
        const struct gi_dfa_edge *end = edge + state->count;
        while (edge < end && edge->hi < code) {
            edge++;
        }
        if (edge == end || edge->lo > code) {
            return false;
        }
        at = edge->to;
    }
    return dfa->states.data[at].is_end;
}

//-- fewer states ----------------------------------------------------------------------------------

// Sets live[i] for states from which an end is reached, by edges turned around.
static bool find_live(struct gi_schema_compiler *c, const struct gi_dfa *dfa, uint8_t *live)
{
    const size_t n = dfa->states.count;
    uint32_t *first = gi_schema_zeroed(c, n + 2, sizeof(*first));
    uint32_t *users = gi_schema_zeroed(c, dfa->edges.count, sizeof(*users));
    uint32_t *todo = gi_schema_zeroed(c, n, sizeof(*todo));
    const bool is_ok = first && users && todo;
    size_t n_todo = 0;
    for (size_t i = 0; is_ok && i < dfa->edges.count; i++) {
        first[dfa->edges.data[i].to + 2]++;
    }
    for (size_t i = 2; is_ok && i < n + 2; i++) {
        first[i] += first[i - 1];
    }
    for (uint32_t i = 0; is_ok && i < n; i++) {
        const struct gi_dfa_state *state = &dfa->states.data[i];
        for (uint32_t k = 0; k < state->count; k++) {
            users[first[dfa->edges.data[state->first + k].to + 1]++] = i;
        }
        if (state->is_end) {
            live[i] = 1;
            todo[n_todo++] = i;
        }
    }
    while (n_todo > 0) {
        const uint32_t done = todo[--n_todo];
        for (uint32_t k = first[done]; k < first[done + 1]; k++) {
            if (!live[users[k]]) {
                live[users[k]] = 1;
                todo[n_todo++] = users[k];
            }
        }
    }
    free(first);
    free(users);
    free(todo);
    return is_ok;
}

struct signature {
    struct gi_hash hash;
    uint32_t state;
};

static int compare_signatures(const void *a, const void *b)
{
    const struct signature *left = a, *right = b;
    if (left->hash.hi != right->hash.hi) {
        return left->hash.hi < right->hash.hi ? -1 : 1;
    }
    if (left->hash.lo != right->hash.lo) {
        return left->hash.lo < right->hash.lo ? -1 : 1;
    }
    return (left->state > right->state) - (left->state < right->state);
}

static void sign(const struct gi_dfa *dfa, const uint8_t *live, const uint32_t *group,
                 struct signature *signature)
{
    const struct gi_dfa_state *state = &dfa->states.data[signature->state];
    const uint32_t head[2] = {group[signature->state], state->is_end};
    struct gi_dfa_edge merged = {1, 0, 0};
    gi_hash_init(&signature->hash);
    gi_hash_add(&signature->hash, head, sizeof(head));
    for (uint32_t i = 0; i < state->count; i++) {
        const struct gi_dfa_edge *edge = &dfa->edges.data[state->first + i];
        if (!live[edge->to]) {
            continue;
        }
        if (merged.lo <= merged.hi && merged.hi + 1 == edge->lo && merged.to == group[edge->to]) {
            merged.hi = edge->hi;
            continue;
        }
        if (merged.lo <= merged.hi) {
            gi_hash_add(&signature->hash, &merged, sizeof(merged));
        }
        merged = (struct gi_dfa_edge){edge->lo, edge->hi, group[edge->to]};
    }
    gi_hash_add(&signature->hash, &merged, sizeof(merged));
}

// Groups equal states by Moore's algorithm; leaves each in a group of its own where that would
// take too long. Returns the number of groups.
static size_t find_groups(const struct gi_dfa *dfa, const uint8_t *live, uint32_t *group,
                          struct signature *signatures)
{
    const size_t n = dfa->states.count;
    size_t n_groups = 1;
    for (size_t pass = 0; n <= MAX_MINIMISED && pass * n < MAX_SIGNED; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            signatures[i].state = i;
            sign(dfa, live, group, &signatures[i]);
        }
        qsort(signatures, n, sizeof(*signatures), compare_signatures);
        uint32_t count = 0;
        for (size_t i = 0; i < n; i++) {
            count += i > 0 && (signatures[i].hash.lo != signatures[i - 1].hash.lo ||
                               signatures[i].hash.hi != signatures[i - 1].hash.hi);
            group[signatures[i].state] = count;
        }
        if (count + 1 == n_groups) {
            return n_groups;
        }
        n_groups = count + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        group[i] = i;
    }
    return n;
}

// Writes the states of each group that lives to out, that of state 0 first.
static bool write_groups(struct gi_schema_compiler *c, const struct gi_dfa *dfa,
                         const uint8_t *live, const uint32_t *group, size_t n_groups,
                         struct gi_dfa *out)
{
    const size_t n = dfa->states.count;
    uint32_t *number = gi_schema_zeroed(c, n_groups, sizeof(*number));
    uint32_t *member = gi_schema_zeroed(c, n_groups, sizeof(*member));
    bool is_ok = number && member;
    uint32_t count = 0;
    for (uint32_t i = 0; is_ok && i < n; i++) {
        if (live[i] && !number[group[i]]) {
            member[count++] = i;
            number[group[i]] = count;
        }
    }
    for (uint32_t i = 0; is_ok && i < count; i++) {
        const struct gi_dfa_state *state = &dfa->states.data[member[i]];
        is_ok = gi_dfa_add_state(c, out, state->is_end);
        for (uint32_t k = 0; is_ok && k < state->count; k++) {
            const struct gi_dfa_edge *edge = &dfa->edges.data[state->first + k];
            is_ok = !live[edge->to] ||
                    gi_dfa_add_edge(c, out, edge->lo, edge->hi, number[group[edge->to]] - 1);
        }
    }
    free(number);
    free(member);
    return is_ok;
}

const struct gi_dfa *gi_dfa_tidy(struct gi_schema_compiler *c, struct gi_dfa *dfa)
{
    const size_t n = dfa->states.count;
    uint8_t *live = gi_schema_zeroed(c, n, 1);
    uint32_t *group = gi_schema_zeroed(c, n, sizeof(*group));
    struct signature *signatures = gi_schema_zeroed(c, n, sizeof(*signatures));
    struct gi_dfa *out = gi_dfa_create(c);
    bool is_ok = live && group && signatures && out;
    is_ok = is_ok && find_live(c, dfa, live);
    if (is_ok && n > 0 && live[0]) {
        const size_t n_groups = find_groups(dfa, live, group, signatures);
        is_ok = write_groups(c, dfa, live, group, n_groups, out);
    }
    free(live);
    free(group);
    free(signatures);
    clear(dfa);
    return is_ok ? out : NULL;
}

//-- products --------------------------------------------------------------------------------------

struct pairs {
    struct {
        uint64_t *data; // state of a << 32 | state of b
        size_t count, capacity;
    } list;
    struct gi_index index;
};

// Sets *index to that of a pair, which is added if it is not there.
static bool index_pair(struct gi_schema_compiler *c, struct pairs *pairs, uint64_t pair,
                       uint32_t *index)
{
    const uint32_t hash = (uint32_t)(pair * 0x9e3779b97f4a7c15u >> 32);
    uint32_t step = 0;
    while ((*index = gi_index_next(&pairs->index, hash, &step)) != GI_INDEX_END) {
        if (pairs->list.data[*index] == pair) {
            return true;
        }
    }
    *index = (uint32_t)pairs->list.count;
    return GI_SCHEMA_PUSH(c, &pairs->list, pair) &&
           gi_schema_note(c, gi_index_add(&pairs->index, hash, *index, purpose, c->build.err));
}

// Adds the edges of a pair of states: those of a, cut where b's edges begin and end. b may have
// stopped (STOPPED) if is_without.
static bool add_pair_edges(struct gi_schema_compiler *c, struct gi_dfa *out, struct pairs *pairs,
                           const struct gi_dfa *a, const struct gi_dfa *b, bool is_without,
                           uint64_t pair)
{
    const uint32_t at_b = (uint32_t)pair;
    const struct gi_dfa_state *from_a = &a->states.data[pair >> 32];
    const struct gi_dfa_edge *edge_b = NULL, *end_b = NULL;
    if (at_b != STOPPED) {
        edge_b = &b->edges.data[b->states.data[at_b].first];
        end_b = edge_b + b->states.data[at_b].count;
    }
    for (uint32_t i = 0; i < from_a->count; i++) {
        const struct gi_dfa_edge edge = a->edges.data[from_a->first + i];
        for (uint32_t lo = edge.lo, hi; lo <= edge.hi; lo = hi + 1) {
            while (edge_b < end_b && edge_b->hi < lo) {
                edge_b++;
            }
            const bool is_in = edge_b < end_b && edge_b->lo <= lo;
            hi = is_in ? edge_b->hi : edge_b < end_b ? edge_b->lo - 1 : edge.hi;
            hi = hi < edge.hi ? hi : edge.hi;
            const uint32_t to_b = is_in ? edge_b->to : STOPPED;
            uint32_t to;
            if ((is_in || is_without) &&
                (!index_pair(c, pairs, (uint64_t)edge.to << 32 | to_b, &to) ||
                 !gi_dfa_add_edge(c, out, lo, hi, to))) {
                return false;
            }
        }
    }
    return true;
}

const struct gi_dfa *gi_dfa_product(struct gi_schema_compiler *c, const struct gi_dfa *a,
                                    const struct gi_dfa *b, bool is_without)
{
    struct pairs pairs = {0};
    struct gi_dfa *out = a && b ? gi_dfa_create(c) : NULL;
    uint32_t index;
    if (!out || gi_dfa_is_empty(a) || (gi_dfa_is_empty(b) && is_without)) {
        return out ? a : NULL;
    }
    if (gi_dfa_is_empty(b)) {
        return b;
    }
    bool is_ok = index_pair(c, &pairs, 0, &index);
    for (size_t i = 0; is_ok && i < pairs.list.count; i++) {
        const uint64_t pair = pairs.list.data[i];
        const bool ends_b = (uint32_t)pair != STOPPED && b->states.data[(uint32_t)pair].is_end;
        is_ok =
            gi_dfa_add_state(c, out, a->states.data[pair >> 32].is_end && ends_b != is_without) &&
            add_pair_edges(c, out, &pairs, a, b, is_without, pair);
    }
    free(pairs.list.data);
    gi_index_finish(&pairs.index);
    return is_ok ? gi_dfa_tidy(c, out) : NULL;
}

const struct gi_dfa *gi_dfa_complement(struct gi_schema_compiler *c, const struct gi_dfa *a)
{
    return gi_dfa_product(c, gi_dfa_of_lengths(c, 0, UINT32_MAX), a, true);
}

//-- simple automata -------------------------------------------------------------------------------

static bool add_any(struct gi_schema_compiler *c, struct gi_dfa *dfa, uint32_t to)
{
    return gi_dfa_add_edge(c, dfa, 0, 0xd7ff, to) &&
           gi_dfa_add_edge(c, dfa, 0xe000, GI_CODE_MAX, to);
}

const struct gi_dfa *gi_dfa_of_lengths(struct gi_schema_compiler *c, uint32_t least, uint32_t most)
{
    struct gi_dfa *dfa = gi_dfa_create(c);
    const uint32_t last = most == UINT32_MAX ? least : most;
    for (uint32_t i = 0; dfa && i <= last; i++) {
        if (!gi_dfa_add_state(c, dfa, i >= least) || (i < last && !add_any(c, dfa, i + 1)) ||
            (i == last && most == UINT32_MAX && !add_any(c, dfa, i))) {
            return NULL;
        }
    }
    return dfa;
}

const struct gi_dfa *gi_dfa_of_texts(struct gi_schema_compiler *c, const char *const *texts,
                                     size_t n)
{
    struct gi_nfa nfa = {.start = 0};
    if (n == 0) {
        return gi_dfa_create(c);
    }
    const uint32_t match = gi_nfa_add(c, &nfa, (struct gi_nfa_node){.kind = GI_NFA_MATCH});
    for (size_t i = 0; i < n; i++) {
        uint32_t next = match;
        for (const char *end = texts[i] + strlen(texts[i]); end > texts[i];) {
            do {
                end--;
            } while (gi_utf8_continues(*end));
            const char *at = end;
            const uint32_t code = gi_utf8_take(&at), first = (uint32_t)nfa.ranges.count;
            GI_SCHEMA_PUSH(c, &nfa.ranges, (struct gi_code_range){code, code});
            next = gi_nfa_add(c, &nfa,
                              (struct gi_nfa_node){
                                  .kind = GI_NFA_CLASS, .next = next, .first = first, .count = 1});
        }
        nfa.start = i == 0
                        ? next
                        : gi_nfa_add(c, &nfa,
                                     (struct gi_nfa_node){
                                         .kind = GI_NFA_SPLIT, .next = next, .other = nfa.start});
    }
    const struct gi_dfa *dfa = gi_dfa_of_nfa(c, &nfa);
    gi_nfa_finish(&nfa);
    return dfa;
}

uint32_t gi_dfa_shortest(struct gi_schema_compiler *c, const struct gi_dfa *dfa)
{
    const size_t n = dfa->states.count;
    uint32_t *todo = gi_schema_zeroed(c, n, sizeof(*todo));
    uint32_t *depth = gi_schema_zeroed(c, n, sizeof(*depth)); // 0: not reached
    const bool is_ok = todo && depth;
    uint32_t shortest = UINT32_MAX;
    size_t n_todo = 0;
    if (is_ok && n > 0) {
        depth[0] = 1;
        todo[n_todo++] = 0;
    }
    for (size_t i = 0; i < n_todo && shortest == UINT32_MAX; i++) {
        const struct gi_dfa_state *state = &dfa->states.data[todo[i]];
        if (state->is_end) {
            shortest = depth[todo[i]] - 1;
        }
        for (uint32_t k = 0; k < state->count; k++) {
            const uint32_t to = dfa->edges.data[state->first + k].to;
            if (depth[to] == 0) {
                depth[to] = depth[todo[i]] + 1;
                todo[n_todo++] = to;
            }
        }
    }
    free(todo);
    free(depth);
    return shortest;
}

uint32_t gi_dfa_longest(struct gi_schema_compiler *c, const struct gi_dfa *dfa)
{
    const size_t n = dfa->states.count; // from each of which an end is reached
    uint32_t *n_in = gi_schema_zeroed(c, n, sizeof(*n_in));
    uint32_t *todo = gi_schema_zeroed(c, n, sizeof(*todo));
    uint32_t *depth = gi_schema_zeroed(c, n, sizeof(*depth));
    const bool is_ok = n_in && todo && depth;
    size_t n_todo = 0, n_done = 0;
    uint32_t longest = 0;
    for (size_t i = 0; is_ok && i < dfa->edges.count; i++) {
        n_in[dfa->edges.data[i].to]++;
    }
    if (is_ok && n > 0 && n_in[0] == 0) { // all others are reached from it
        todo[n_todo++] = 0;
    }
    for (; n_todo > 0; n_done++) {
        const uint32_t at = todo[--n_todo];
        const struct gi_dfa_state *state = &dfa->states.data[at];
        longest = depth[at] > longest ? depth[at] : longest;
        for (uint32_t k = 0; k < state->count; k++) {
            const uint32_t to = dfa->edges.data[state->first + k].to;
            depth[to] = depth[at] + 1 > depth[to] ? depth[at] + 1 : depth[to];
            if (--n_in[to] == 0) {
                todo[n_todo++] = to;
            }
        }
    }
    free(n_in);
    free(todo);
    free(depth);
    return n_done < n ? UINT32_MAX : longest;
}
