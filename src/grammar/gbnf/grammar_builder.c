#include "grammar/gbnf/grammar_builder.h"

#include "base/array.h"
#include "base/utf8.h"
#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar";

void gi_builder_init(struct gi_builder *builder, struct glinfer_error *err)
{
    *builder = (struct gi_builder){.err = err};
    builder->grammar = gi_array_zeroed(1, sizeof(*builder->grammar), purpose, err);
    builder->has_failed = !builder->grammar;
    gi_build_node(builder, GI_NODE_END, 0, GI_BUILD_END);
}

void gi_builder_finish(struct gi_builder *builder)
{
    free(builder->ranges.data);
    gi_grammar_destroy(builder->grammar);
    memset(builder, 0, sizeof(*builder));
}

uint32_t gi_build_node(struct gi_builder *builder, enum gi_node_kind kind, uint32_t a,
                       uint32_t next)
{
    if (builder->has_failed || next == GI_BUILD_NOTHING) {
        return GI_BUILD_NOTHING;
    }
    struct gi_grammar *grammar = builder->grammar;
    if (grammar->nodes.count == GI_BUILD_MAX_NODES) {
        gi_error_set(builder->err, GLINFER_STATUS_INVALID_ARGUMENT,
                     "the grammar is too large: it has more than %d nodes", GI_BUILD_MAX_NODES);
        builder->has_failed = true;
    } else if (!GI_ARRAY_PUSH(&grammar->nodes, purpose, builder->err,
                              (struct gi_node){kind, a, next})) {
        builder->has_failed = true;
    }
    if (builder->has_failed) {
        return GI_BUILD_NOTHING;
    }
    grammar->has_tokens |= kind == GI_NODE_TOKEN || kind == GI_NODE_NOT_TOKEN;
    return (uint32_t)grammar->nodes.count - 1;
}

uint32_t gi_build_call(struct gi_builder *builder, uint32_t rule, uint32_t next)
{
    return gi_build_node(builder, GI_NODE_CALL, rule, next);
}

//-- characters ------------------------------------------------------------------------------------

void gi_build_range(struct gi_builder *builder, uint32_t lo, uint32_t hi)
{
    if (!builder->has_failed &&
        !GI_ARRAY_PUSH(&builder->ranges, purpose, builder->err, (struct gi_code_range){lo, hi})) {
        builder->has_failed = true;
    }
}

uint32_t gi_build_class(struct gi_builder *builder, bool is_negated, uint32_t next)
{
    size_t n = builder->ranges.count;
    uint32_t state;
    builder->ranges.count = 0;
    if (builder->has_failed ||
        !GI_ARRAY_RESERVE(&builder->ranges, 2 * n + 6, purpose, builder->err)) {
        builder->has_failed = true;
        return GI_BUILD_NOTHING;
    }
    struct gi_code_range *ranges = builder->ranges.data;
    n = gi_code_ranges_normalise(ranges, n);
    if (is_negated) {
        struct gi_code_range *others = ranges + n + 1;
        n = gi_code_ranges_invert(ranges, n, others);
        ranges = others;
    }
    if (n == 0) {
        return GI_BUILD_NOTHING;
    }
    if (!gi_char_automata_add(&builder->grammar->automata, ranges, n, &state, builder->err)) {
        builder->has_failed = true;
    }
    return gi_build_node(builder, GI_NODE_CHAR, state, next);
}

uint32_t gi_build_text(struct gi_builder *builder, const char *text, size_t size, uint32_t next)
{
    for (size_t end = size; size > 0;) {
        do {
            size--;
        } while (size > 0 && gi_utf8_continues(text[size]));
        uint32_t code = 0;
        if (gi_utf8_decode(text + size, end - size, &code) == 0 && !builder->has_failed) {
            builder->has_failed = true;
            gi_error_set(builder->err, GLINFER_STATUS_INVALID_ARGUMENT,
                         "invalid text of a grammar: it is not UTF-8");
        }
        end = size;
        gi_build_range(builder, code, code);
        next = gi_build_class(builder, false, next);
    }
    return next;
}

//-- structure -------------------------------------------------------------------------------------

uint32_t gi_build_either(struct gi_builder *builder, uint32_t one, uint32_t other)
{
    return other == GI_BUILD_NOTHING ? one
           : one == GI_BUILD_NOTHING ? other
                                     : gi_build_node(builder, GI_NODE_SPLIT, other, one);
}

uint32_t gi_build_repeat(struct gi_builder *builder, enum gi_node_kind kind, uint32_t a,
                         uint32_t least, uint32_t most, uint32_t next)
{
    uint32_t first = next;
    if (next == GI_BUILD_NOTHING) {
        return next;
    }
    if (most == GI_BUILD_ENDLESS) {
        first = gi_build_node(builder, GI_NODE_SPLIT, next, next);
        const uint32_t item = gi_build_node(builder, kind, a, first);
        if (!builder->has_failed) {
            builder->grammar->nodes.data[first].a = item;
        }
    }
    const uint32_t n_optional = most == GI_BUILD_ENDLESS ? 0 : most - least;
    for (uint32_t i = 0; i < n_optional && !builder->has_failed; i++) { // each may be the last
        first = gi_build_either(builder, gi_build_node(builder, kind, a, first), next);
    }
    for (uint32_t i = 0; i < least && !builder->has_failed; i++) {
        first = gi_build_node(builder, kind, a, first);
    }
    return first;
}

static bool is_join(const struct gi_node *node)
{
    return node->kind == GI_NODE_SPLIT && node->a == node->next;
}

uint32_t gi_build_joins(struct gi_builder *builder, size_t n)
{
    const uint32_t first = gi_build_node(builder, GI_NODE_SPLIT, GI_BUILD_END, GI_BUILD_END);
    for (size_t i = 1; i < n && !builder->has_failed; i++) {
        gi_build_node(builder, GI_NODE_SPLIT, GI_BUILD_END, GI_BUILD_END);
    }
    return first;
}

// Returns a character that is followed by itself for ever.
static uint32_t build_never(struct gi_builder *builder)
{
    if (!builder->never) {
        builder->never = gi_build_text(builder, " ", 1, GI_BUILD_END);
        gi_build_lead(builder, builder->never, builder->never);
    }
    return builder->never;
}

void gi_build_lead(struct gi_builder *builder, uint32_t node, uint32_t next)
{
    next = next == GI_BUILD_NOTHING ? build_never(builder) : next;
    if (!builder->has_failed) {
        struct gi_node *from = &builder->grammar->nodes.data[node];
        from->a = is_join(from) ? next : from->a;
        from->next = next;
    }
}

uint32_t gi_build_rule(struct gi_builder *builder, uint32_t first)
{
    first = first == GI_BUILD_NOTHING ? build_never(builder) : first;
    if (!builder->has_failed &&
        !GI_ARRAY_PUSH(&builder->grammar->rules, purpose, builder->err, first)) {
        builder->has_failed = true;
    }
    return builder->has_failed ? 0 : (uint32_t)builder->grammar->rules.count - 1;
}

void gi_build_set_rule(struct gi_builder *builder, uint32_t rule, uint32_t first)
{
    first = first == GI_BUILD_NOTHING ? build_never(builder) : first;
    if (!builder->has_failed) {
        builder->grammar->rules.data[rule] = first;
    }
}

//-- the whole -------------------------------------------------------------------------------------

// Returns the node that joins lead to. No cycle has nothing but joins: characters, tokens or calls
// are between.
static uint32_t resolve(struct gi_node *nodes, uint32_t node)
{
    while (is_join(&nodes[node]) && nodes[node].next != node) {
        struct gi_node *join = &nodes[node];
        if (is_join(&nodes[join->next])) {
            join->next = nodes[join->next].next;
            join->a = join->next;
        }
        node = join->next;
    }
    return node;
}

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

struct gi_grammar *gi_builder_take(struct gi_builder *builder, uint32_t root)
{
    struct gi_grammar *grammar = builder->grammar;
    if (builder->has_failed) {
        return NULL;
    }
    for (size_t i = 0; i < grammar->nodes.count; i++) {
        struct gi_node *node = &grammar->nodes.data[i];
        node->next = resolve(grammar->nodes.data, node->next);
        node->a = node->kind == GI_NODE_SPLIT ? resolve(grammar->nodes.data, node->a) : node->a;
    }
    for (size_t i = 0; i < grammar->rules.count; i++) {
        grammar->rules.data[i] = resolve(grammar->nodes.data, grammar->rules.data[i]);
    }
    find_classes(grammar);
    grammar->root = root;
    builder->grammar = NULL;
    return grammar;
}

void gi_grammar_destroy(struct gi_grammar *grammar)
{
    if (!grammar) {
        return;
    }
    free(grammar->nodes.data);
    free(grammar->rules.data);
    gi_char_automata_finish(&grammar->automata);
    free(grammar);
}
