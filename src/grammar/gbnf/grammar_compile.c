#include "grammar/gbnf/grammar_compile.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 1 << 20 };

static const char purpose[] = "a grammar";

struct compiler {
    struct gi_grammar *grammar;
    const struct gi_syntax *syntax;
    struct glinfer_error *err;
};

static bool add_node(struct compiler *c, enum gi_node_kind kind, uint32_t a, uint32_t next,
                     uint32_t *index)
{
    if (c->grammar->nodes.count == MAX_NODES) {
        return gi_error_set(c->err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the grammar is too large: it has more than %d nodes", MAX_NODES);
    }
    *index = (uint32_t)c->grammar->nodes.count;
    return GI_ARRAY_PUSH(&c->grammar->nodes, purpose, c->err, (struct gi_node){kind, a, next});
}

// Sets *first to the node at which what index stands for begins; it goes on at next. Nesting of the
// syntax bounds the recursion.
static bool compile(struct compiler *c, uint32_t index, uint32_t next, uint32_t *first);

static bool compile_literal(struct compiler *c, const struct gi_syntax_node *node, uint32_t next,
                            uint32_t *first)
{
    *first = next;
    for (uint32_t i = node->b; i > 0; i--) {
        const uint32_t code = c->syntax->points.data[node->a + i - 1];
        const struct gi_code_range range = {code, code};
        uint32_t state;
        if (!gi_char_automata_add(&c->grammar->automata, &range, 1, &state, c->err) ||
            !add_node(c, GI_NODE_CHAR, state, *first, first)) {
            return false;
        }
    }
    return true;
}

static bool compile_class(struct compiler *c, const struct gi_syntax_node *node, uint32_t next,
                          uint32_t *first)
{
    uint32_t state;
    return gi_char_automata_add(&c->grammar->automata, &c->syntax->ranges.data[node->a], node->b,
                                &state, c->err) &&
           add_node(c, GI_NODE_CHAR, state, next, first);
}

static bool compile_sequence(struct compiler *c, const struct gi_syntax_node *node, uint32_t next,
                             uint32_t *first)
{
    struct {
        uint32_t *data;
        size_t count, capacity;
    } items = {0};
    bool is_ok = true;
    *first = next;
    for (uint32_t i = node->child; is_ok && i != GI_SYNTAX_NONE;
         i = c->syntax->nodes.data[i].next) {
        is_ok = GI_ARRAY_PUSH(&items, purpose, c->err, i);
    }
    while (is_ok && items.count > 0) {
        is_ok = compile(c, items.data[--items.count], *first, first);
    }
    free(items.data);
    return is_ok;
}

static bool compile_choice(struct compiler *c, const struct gi_syntax_node *node, uint32_t next,
                           uint32_t *first)
{
    bool is_first = true;
    *first = next;
    for (uint32_t i = node->child; i != GI_SYNTAX_NONE; i = c->syntax->nodes.data[i].next) {
        uint32_t other = next;
        if (!compile(c, i, next, &other) ||
            (!is_first && !add_node(c, GI_NODE_SPLIT, other, *first, &other))) {
            return false;
        }
        *first = other;
        is_first = false;
    }
    return true;
}

//-- repetitions -----------------------------------------------------------------------------------

// Sets *kind and *a to a single node that stands for the item, which becomes a rule if it needs
// more than one.
static bool single_node(struct compiler *c, uint32_t item, enum gi_node_kind *kind, uint32_t *a)
{
    const size_t n_before = c->grammar->nodes.count;
    uint32_t first;
    if (!compile(c, item, 0, &first)) {
        return false;
    }
    const struct gi_node *node = &c->grammar->nodes.data[first];
    if (c->grammar->nodes.count == n_before + 1 && node->kind != GI_NODE_SPLIT) {
        *kind = node->kind;
        *a = node->a;
        c->grammar->nodes.count--;
        return true;
    }
    *kind = GI_NODE_CALL;
    *a = (uint32_t)c->grammar->rules.count;
    return GI_ARRAY_PUSH(&c->grammar->rules, purpose, c->err, first);
}

// Any number of items.
static bool compile_star(struct compiler *c, enum gi_node_kind kind, uint32_t a, uint32_t next,
                         uint32_t *first)
{
    uint32_t item = 0;
    if (!add_node(c, GI_NODE_SPLIT, next, 0, first) || !add_node(c, kind, a, *first, &item)) {
        return false;
    }
    c->grammar->nodes.data[*first].next = item;
    return true;
}

static bool compile_repeat(struct compiler *c, const struct gi_syntax_node *node, uint32_t next,
                           uint32_t *first)
{
    enum gi_node_kind kind = GI_NODE_END;
    uint32_t a = 0;
    *first = next;
    if (node->b == 0) {
        return true;
    }
    if (node->a == 0 && node->b == 1) {
        return compile(c, node->child, next, first) &&
               add_node(c, GI_NODE_SPLIT, next, *first, first);
    }
    if (!single_node(c, node->child, &kind, &a)) {
        return false;
    }
    if (node->b == GI_SYNTAX_ENDLESS) {
        if (!compile_star(c, kind, a, next, first)) {
            return false;
        }
    } else {
        for (uint32_t i = node->a; i < node->b; i++) { // each may be the last
            if (!add_node(c, kind, a, *first, first) ||
                !add_node(c, GI_NODE_SPLIT, next, *first, first)) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < node->a; i++) {
        if (!add_node(c, kind, a, *first, first)) {
            return false;
        }
    }
    return true;
}

static bool compile(struct compiler *c, uint32_t index, uint32_t next, uint32_t *first)
{
    const struct gi_syntax_node *node = &c->syntax->nodes.data[index];
    switch (node->kind) {
    case GI_SYNTAX_LITERAL:
        return compile_literal(c, node, next, first);
    case GI_SYNTAX_CLASS:
        return compile_class(c, node, next, first);
    case GI_SYNTAX_RULE:
        return add_node(c, GI_NODE_CALL, node->a, next, first);
    case GI_SYNTAX_TOKEN:
        c->grammar->has_tokens = true;
        return add_node(c, GI_NODE_TOKEN, node->a, next, first);
    case GI_SYNTAX_NOT_TOKEN:
        c->grammar->has_tokens = true;
        return add_node(c, GI_NODE_NOT_TOKEN, node->a, next, first);
    case GI_SYNTAX_SEQUENCE:
        return compile_sequence(c, node, next, first);
    case GI_SYNTAX_CHOICE:
        return compile_choice(c, node, next, first);
    case GI_SYNTAX_REPEAT:
        return compile_repeat(c, node, next, first);
    }
    return false;
}

//-- classes of bytes ------------------------------------------------------------------------------

static void find_classes(struct gi_grammar *grammar)
{
    bool begins[257] = {false};
    for (size_t i = 0; i < grammar->automata.segments.count; i++) {
        begins[grammar->automata.segments.data[i].lo] = true;
        begins[grammar->automata.segments.data[i].hi + 1] = true;
    }
    for (int byte = 0; byte < 256; byte++) {
        if (byte == 0 || begins[byte]) {
            grammar->bytes_of[grammar->n_classes++] = (uint8_t)byte;
        }
        grammar->class_of[byte] = (uint8_t)(grammar->n_classes - 1);
    }
}

bool gi_grammar_compile(struct gi_grammar *grammar, const struct gi_syntax *syntax,
                        struct glinfer_error *err)
{
    struct compiler c = {grammar, syntax, err};
    const size_t n_rules = syntax->rules.count;
    uint32_t first = 0;
    if (!add_node(&c, GI_NODE_END, 0, 0, &first) ||
        !GI_ARRAY_RESERVE(&grammar->rules, n_rules, purpose, err)) {
        return false;
    }
    memset(grammar->rules.data, 0, n_rules * sizeof(*grammar->rules.data));
    grammar->rules.count = n_rules;
    for (size_t i = 0; i < n_rules; i++) {
        const struct gi_syntax_rule *rule = &syntax->rules.data[i];
        if (!compile(&c, rule->body, 0, &first)) {
            return false;
        }
        grammar->rules.data[i] = first;
        if (rule->name_size == 4 && memcmp(&syntax->names.data[rule->name], "root", 4) == 0) {
            grammar->root = (uint32_t)i;
        }
    }
    find_classes(grammar);
    return true;
}
