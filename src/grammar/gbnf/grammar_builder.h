// Builds the nodes of a grammar, for the reader of GBNF and the compiler of schemas. A text is
// built from its end: a function takes the node at which the text goes on and returns the node at
// which it begins. Joins stand for nodes that are not there yet. The first failure is kept, and
// calls after it do nothing. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/grammar_node.h"

#include <stddef.h>

#define GI_BUILD_END       0          // the node at which a rule ends
#define GI_BUILD_NOTHING   UINT32_MAX // in place of a node: no text is possible
#define GI_BUILD_ENDLESS   UINT32_MAX // of a repetition: no upper bound
#define GI_BUILD_MAX_NODES (1 << 20)

struct gi_builder {
    struct gi_grammar *grammar; // owned
    struct {
        struct gi_code_range *data; // of the next class
        size_t count, capacity;
    } ranges;
    uint32_t never; // a node that no text passes; 0: not built yet
    bool has_failed;
    struct glinfer_error *err;
};

void gi_builder_init(struct gi_builder *builder, struct glinfer_error *err);
// Frees the builder and its grammar.
void gi_builder_finish(struct gi_builder *builder);
// Removes joins and finds the classes of bytes; `root` is the rule of the whole text. Returns the
// grammar, which leaves the builder; NULL after a failure.
struct gi_grammar *gi_builder_take(struct gi_builder *builder, uint32_t root);

// Builds a node. Fails with INVALID_ARGUMENT (more than GI_BUILD_MAX_NODES) and NO_MEMORY.
uint32_t gi_build_node(struct gi_builder *builder, enum gi_node_kind kind, uint32_t a,
                       uint32_t next);
// Builds a call of a rule.
uint32_t gi_build_call(struct gi_builder *builder, uint32_t rule, uint32_t next);
// Builds the characters of UTF-8 text.
uint32_t gi_build_text(struct gi_builder *builder, const char *text, size_t size, uint32_t next);
// Adds code points from lo to hi to the next class.
void gi_build_range(struct gi_builder *builder, uint32_t lo, uint32_t hi);
// Builds a character of the ranges that were added, or of no range if is_negated; GI_BUILD_NOTHING
// without such a character.
uint32_t gi_build_class(struct gi_builder *builder, bool is_negated, uint32_t next);
// Builds a choice of two beginnings.
uint32_t gi_build_either(struct gi_builder *builder, uint32_t one, uint32_t other);
// Builds a node of a kind `least` to `most` times.
uint32_t gi_build_repeat(struct gi_builder *builder, enum gi_node_kind kind, uint32_t a,
                         uint32_t least, uint32_t most, uint32_t next);

// Adds n joins and returns the first.
uint32_t gi_build_joins(struct gi_builder *builder, size_t n);
// Sets where a node goes on.
void gi_build_lead(struct gi_builder *builder, uint32_t node, uint32_t next);

// Adds a rule that begins at a node, which may be set later. Returns its index.
uint32_t gi_build_rule(struct gi_builder *builder, uint32_t first);
void gi_build_set_rule(struct gi_builder *builder, uint32_t rule, uint32_t first);
