#include "grammar/gbnf/grammar_recursion.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar";

//-- what may end ----------------------------------------------------------------------------------

// Every node that others depend on names them: entries from first[i] to first[i + 1] of `users`.
struct users {
    uint32_t *first, *users;
};

// Lists the nodes that `index` depends on: where it goes on, without text or over_text, and the
// rule it calls.
static void depend(const struct gi_grammar *grammar, uint32_t index, bool over_text, uint32_t on[2],
                   int *n)
{
    const struct gi_node *node = &grammar->nodes.data[index];
    const bool is_call = node->kind == GI_NODE_CALL;
    *n = 0;
    if (node->kind == GI_NODE_SPLIT || is_call) {
        on[(*n)++] = node->next;
        on[(*n)++] = is_call ? grammar->rules.data[node->a] : node->a;
    } else if (over_text && node->kind != GI_NODE_END) {
        on[(*n)++] = node->next;
    }
}

static bool find_users(const struct gi_grammar *grammar, bool over_text, struct users *users,
                       struct glinfer_error *err)
{
    const uint32_t n_nodes = (uint32_t)grammar->nodes.count;
    uint32_t on[2];
    int n;
    if (!GI_ARRAYS_ZEROED(purpose, err, GI_NEW(users->first, (size_t)n_nodes + 2),
                          GI_NEW(users->users, (size_t)n_nodes * 2))) {
        return false;
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        for (depend(grammar, i, over_text, on, &n); n > 0; n--) {
            users->first[on[n - 1] + 2]++;
        }
    }
    for (uint32_t i = 2; i < n_nodes + 2; i++) {
        users->first[i] += users->first[i - 1];
    }
    for (uint32_t i = 0; i < n_nodes; i++) { // moves first[i + 1] from the begin of i to its end
        for (depend(grammar, i, over_text, on, &n); n > 0; n--) {
            users->users[users->first[on[n - 1] + 1]++] = i;
        }
    }
    return true;
}

// Sets ends[i] to 1 for nodes from which the end of their rule is reached, without text or
// over_text. Each node that becomes so lets those that depend on it be looked at again.
static bool find_ends(const struct gi_grammar *grammar, bool over_text, uint8_t *ends,
                      struct glinfer_error *err)
{
    struct users users = {0};
    uint32_t *queue = gi_array_zeroed(grammar->nodes.count, sizeof(*queue), purpose, err);
    const bool is_ok = queue && find_users(grammar, over_text, &users, err);
    size_t n = 0;
    if (is_ok) {
        ends[0] = 1;
        queue[n++] = 0;
    }
    while (n > 0) {
        const uint32_t done = queue[--n];
        for (uint32_t i = users.first[done]; i < users.first[done + 1]; i++) {
            const uint32_t user = users.users[i];
            const struct gi_node *node = &grammar->nodes.data[user];
            const bool is_so = node->kind != GI_NODE_CALL ||
                               (ends[node->next] && ends[grammar->rules.data[node->a]]);
            if (is_so && !ends[user]) {
                ends[user] = 1;
                queue[n++] = user;
            }
        }
    }
    free(users.first);
    free(users.users);
    free(queue);
    return is_ok;
}

//-- rules that begin with rules -------------------------------------------------------------------

enum { IS_NEW, IS_OPEN, IS_DONE };

struct search {
    const struct gi_grammar *grammar;
    uint8_t *is_empty;
    uint8_t *is_seen; // of each node
    uint8_t *rule_state;
    uint32_t found;
    struct {
        uint32_t *data; // node, or ~rule: the rule's nodes below it are done
        size_t count, capacity;
    } todo;
    struct glinfer_error *err;
};

static bool push(struct search *s, uint32_t entry)
{
    return GI_ARRAY_PUSH(&s->todo, purpose, s->err, entry);
}

static bool enter_rule(struct search *s, uint32_t rule)
{
    if (s->rule_state[rule] != IS_NEW) {
        s->found = s->rule_state[rule] == IS_OPEN ? rule : s->found;
        return true;
    }
    s->rule_state[rule] = IS_OPEN;
    return push(s, ~rule) && push(s, s->grammar->rules.data[rule]);
}

// Looks at all that `node` may begin with. Rules that were entered before it are still open.
static bool visit(struct search *s, uint32_t index)
{
    const struct gi_node *node = &s->grammar->nodes.data[index];
    if (s->is_seen[index]) {
        return true;
    }
    s->is_seen[index] = 1;
    if (node->kind == GI_NODE_SPLIT) {
        return push(s, node->next) && push(s, node->a);
    }
    if (node->kind != GI_NODE_CALL) {
        return true;
    }
    // The nodes after the call are visited when the rule is done: their entry is below its own.
    return (!s->is_empty[s->grammar->rules.data[node->a]] || push(s, node->next)) &&
           enter_rule(s, node->a);
}

static bool search_rules(struct search *s)
{
    const uint32_t n_rules = (uint32_t)s->grammar->rules.count;
    for (uint32_t rule = 0; rule < n_rules && s->found == GI_NO_RECURSION; rule++) {
        if (s->rule_state[rule] == IS_NEW && !enter_rule(s, rule)) {
            return false;
        }
        while (s->todo.count > 0 && s->found == GI_NO_RECURSION) {
            const uint32_t entry = s->todo.data[--s->todo.count];
            if (entry > INT32_MAX) {
                s->rule_state[~entry] = IS_DONE;
            } else if (!visit(s, entry)) {
                return false;
            }
        }
    }
    return true;
}

bool gi_grammar_find_left_recursion(const struct gi_grammar *grammar, uint32_t *rule,
                                    struct glinfer_error *err)
{
    const size_t n_nodes = grammar->nodes.count;
    struct search s = {.grammar = grammar, .found = GI_NO_RECURSION, .err = err};
    const bool is_ok =
        GI_ARRAYS_ZEROED(purpose, err, GI_NEW(s.is_empty, n_nodes), GI_NEW(s.is_seen, n_nodes),
                         GI_NEW(s.rule_state, grammar->rules.count)) &&
        find_ends(grammar, false, s.is_empty, err) && search_rules(&s);
    free(s.is_empty);
    free(s.is_seen);
    free(s.rule_state);
    free(s.todo.data);
    *rule = s.found;
    return is_ok;
}

bool gi_grammar_cut_endless(struct gi_grammar *grammar, bool *has_end, struct glinfer_error *err)
{
    uint8_t *ends = gi_array_zeroed(grammar->nodes.count, 1, purpose, err);
    const bool is_ok = ends && find_ends(grammar, true, ends, err);
    for (size_t i = 0; is_ok && i < grammar->nodes.count; i++) {
        struct gi_node *node = &grammar->nodes.data[i];
        if (node->kind == GI_NODE_SPLIT && ends[node->next] != ends[node->a]) {
            node->next = ends[node->next] ? node->next : node->a;
            node->a = node->next;
        }
    }
    *has_end = is_ok && ends[grammar->rules.data[grammar->root]];
    free(ends);
    return is_ok;
}
