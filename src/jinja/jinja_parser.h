// From tokens to a tree. Private to this folder.
#ifndef GI_JINJA_JINJA_PARSER_H
#define GI_JINJA_JINJA_PARSER_H

#include "jinja/jinja_lexer.h"
#include "jinja/jinja_node.h"

struct gi_jinja_parser {
    struct gi_jinja_lexer lexer;
    int depth; // of nesting
};

// NULL after a failure, also in the functions below.
struct gi_jinja_node *gi_jinja_new_node(struct gi_jinja_parser *parser,
                                        enum gi_jinja_node_kind kind);
// An expression from the token that is looked at; with_condition: it may be `a if b else c`.
struct gi_jinja_node *gi_jinja_parse_expression(struct gi_jinja_parser *parser,
                                                bool with_condition);
// The same, or several in a list that are separated by commas.
struct gi_jinja_node *gi_jinja_parse_tuple(struct gi_jinja_parser *parser);
// Names, linked, that are separated by commas; also a.b, as an attribute.
struct gi_jinja_node *gi_jinja_parse_targets(struct gi_jinja_parser *parser);
// Arguments from behind the opening bracket to behind the closing one. Parameters of a macro look the
// same.
struct gi_jinja_node *gi_jinja_parse_arguments(struct gi_jinja_parser *parser);
// Filters behind a node, which may be NULL.
struct gi_jinja_node *gi_jinja_parse_filters(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node);

// Whether the token is this name or sign.
bool gi_jinja_at(const struct gi_jinja_parser *parser, const char *word);
// Steps over it if it is.
bool gi_jinja_take(struct gi_jinja_parser *parser, const char *word);
// Fails if it is not.
void gi_jinja_expect(struct gi_jinja_parser *parser, const char *word);
struct gi_jinja_string gi_jinja_expect_name(struct gi_jinja_parser *parser);

static inline bool gi_jinja_has_failed(const struct gi_jinja_parser *parser)
{
    return parser->lexer.pool->has_failed;
}

#endif
