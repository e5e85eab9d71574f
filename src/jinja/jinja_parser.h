// Parses tokens into a tree. Private to this folder.
#pragma once

#include "jinja/jinja_lexer.h"
#include "jinja/jinja_node.h"

struct gi_jinja_parser {
    struct gi_jinja_lexer lexer;
    int depth; // of nesting
};

// Never NULL; after a failure all nodes are the same memory, and no tree is to be walked.
struct gi_jinja_node *gi_jinja_new_node(struct gi_jinja_parser *parser,
                                        enum gi_jinja_node_kind kind);
// Adds a node, if it is not NULL, at the end of a list.
void gi_jinja_add_node(struct gi_jinja_node ***end, struct gi_jinja_node *node);
// Counts a level of nesting; false after a failure, which too many levels are.
bool gi_jinja_enter(struct gi_jinja_parser *parser);
// Parses an expression; with_condition: it may be `a if b else c`. NULL after a failure.
struct gi_jinja_node *gi_jinja_parse_expression(struct gi_jinja_parser *parser,
                                                bool with_condition);
// Parses one, or a list of several that are separated by commas.
struct gi_jinja_node *gi_jinja_parse_tuple(struct gi_jinja_parser *parser);
// Parses names that are separated by commas, or attributes, into a list.
struct gi_jinja_node *gi_jinja_parse_targets(struct gi_jinja_parser *parser);
// Parses the arguments of a call, or the parameters of a macro, after the opening bracket.
struct gi_jinja_node *gi_jinja_parse_arguments(struct gi_jinja_parser *parser);
// Parses a filter's name and arguments, and applies it to a node.
struct gi_jinja_node *gi_jinja_parse_filter(struct gi_jinja_parser *parser,
                                            struct gi_jinja_node *node);
// Parses the filters after a node.
struct gi_jinja_node *gi_jinja_parse_filters(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node);

// Returns true if the token is one of a list that ends in NULL.
bool gi_jinja_at_any(const struct gi_jinja_parser *parser, const char *const *words);
// Steps over the token if it is this name or sign.
bool gi_jinja_take(struct gi_jinja_parser *parser, const char *word);
// Steps over the token, and fails if it is not this name or sign.
void gi_jinja_expect(struct gi_jinja_parser *parser, const char *word);
struct gi_jinja_string gi_jinja_expect_name(struct gi_jinja_parser *parser);

static inline bool gi_jinja_has_failed(const struct gi_jinja_parser *parser)
{
    return parser->lexer.pool->has_failed;
}
