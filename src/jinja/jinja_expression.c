#include "jinja/jinja_parser.h"

enum { MAX_DEPTH = 100 };

// Returns true if the token is this name or sign.
static bool is_at(const struct gi_jinja_parser *parser, const char *word)
{
    const struct gi_jinja_token *token = &parser->lexer.token;
    return (token->kind == GI_JINJA_TOKEN_NAME || token->kind == GI_JINJA_TOKEN_SIGN) &&
           gi_jinja_is(token->text, word);
}

bool gi_jinja_at_any(const struct gi_jinja_parser *parser, const char *const *words)
{
    while (*words && !is_at(parser, *words)) {
        words++;
    }
    return *words;
}

bool gi_jinja_take(struct gi_jinja_parser *parser, const char *word)
{
    const bool is_there = !gi_jinja_has_failed(parser) && is_at(parser, word);
    if (is_there) {
        gi_jinja_advance(&parser->lexer);
    }
    return is_there;
}

void gi_jinja_expect(struct gi_jinja_parser *parser, const char *word)
{
    if (!gi_jinja_take(parser, word)) {
        gi_jinja_expect_failed(&parser->lexer, word);
    }
}

struct gi_jinja_string gi_jinja_expect_name(struct gi_jinja_parser *parser)
{
    const struct gi_jinja_string name = parser->lexer.token.text;
    if (parser->lexer.token.kind != GI_JINJA_TOKEN_NAME) {
        gi_jinja_expect_failed(&parser->lexer, "a name");
        return gi_jinja_string_of("");
    }
    gi_jinja_advance(&parser->lexer);
    return name;
}

struct gi_jinja_node *gi_jinja_new_node(struct gi_jinja_parser *parser,
                                        enum gi_jinja_node_kind kind)
{
    struct gi_jinja_node *node = gi_jinja_new(parser->lexer.pool, sizeof(*node));
    node->kind = kind;
    node->line = parser->lexer.pool->line;
    return node;
}

static struct gi_jinja_node *new_constant(struct gi_jinja_parser *parser,
                                          struct gi_jinja_value value)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_CONSTANT);
    node->constant = value;
    return node;
}

static struct gi_jinja_node *new_operation(struct gi_jinja_parser *parser,
                                           enum gi_jinja_node_kind kind, struct gi_jinja_node *a,
                                           struct gi_jinja_node *b)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, kind);
    node->a = a;
    node->b = b;
    return node;
}

void gi_jinja_add_node(struct gi_jinja_node ***end, struct gi_jinja_node *node)
{
    if (node) {
        **end = node;
        *end = &node->next;
    }
}

bool gi_jinja_enter(struct gi_jinja_parser *parser)
{
    if (++parser->depth > MAX_DEPTH) {
        gi_jinja_refuse(parser->lexer.pool, "nested too deeply");
    }
    return !gi_jinja_has_failed(parser);
}

//-- the smallest parts ----------------------------------------------------------------------------

struct gi_jinja_node *gi_jinja_parse_arguments(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = NULL, **end = &first;
    while (!gi_jinja_has_failed(parser) && !gi_jinja_take(parser, ")")) {
        struct gi_jinja_string name = {0};
        const bool is_list = gi_jinja_take(parser, "*");
        if (parser->lexer.token.kind == GI_JINJA_TOKEN_NAME &&
            gi_jinja_is_followed_by(&parser->lexer, "=")) {
            name = gi_jinja_expect_name(parser);
            gi_jinja_expect(parser, "=");
        }
        // An element of a list is a node of its own, because what it holds may be an element too.
        struct gi_jinja_node *argument = new_operation(
            parser, GI_JINJA_NODE_CONSTANT, gi_jinja_parse_expression(parser, true), NULL);
        argument->name = name;
        argument->op = is_list ? GI_JINJA_MULTIPLY : GI_JINJA_ADD;
        gi_jinja_add_node(&end, argument);
        if (!gi_jinja_take(parser, ",") && !is_at(parser, ")")) {
            gi_jinja_expect_failed(&parser->lexer, "')'");
        }
    }
    return first;
}

static struct gi_jinja_node *parse_elements(struct gi_jinja_parser *parser, const char *close,
                                            bool is_dict)
{
    struct gi_jinja_node *node =
        gi_jinja_new_node(parser, is_dict ? GI_JINJA_NODE_DICT : GI_JINJA_NODE_LIST);
    struct gi_jinja_node *first = NULL, **end = &first;
    while (!gi_jinja_has_failed(parser) && !gi_jinja_take(parser, close)) {
        gi_jinja_add_node(&end, gi_jinja_parse_expression(parser, true));
        if (is_dict) {
            gi_jinja_expect(parser, ":");
            gi_jinja_add_node(&end, gi_jinja_parse_expression(parser, true));
        }
        if (!gi_jinja_take(parser, ",") && !is_at(parser, close)) {
            gi_jinja_expect_failed(&parser->lexer, close);
        }
    }
    node->list = first;
    return node;
}

struct gi_jinja_node *gi_jinja_parse_tuple(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = gi_jinja_parse_expression(parser, true);
    if (!first || !is_at(parser, ",")) {
        return first;
    }
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_LIST);
    struct gi_jinja_node **end = &first->next;
    node->list = first;
    while (gi_jinja_take(parser, ",") && parser->lexer.token.kind != GI_JINJA_TOKEN_END &&
           !is_at(parser, ")")) {
        gi_jinja_add_node(&end, gi_jinja_parse_expression(parser, true));
    }
    return node;
}

static struct gi_jinja_node *new_name(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_NAME);
    node->name = gi_jinja_expect_name(parser);
    return node;
}

static struct gi_jinja_node *parse_name(struct gi_jinja_parser *parser)
{
    static const struct {
        const char *names[2];
        enum gi_jinja_kind kind;
        int64_t number;
    } constants[] = {
        {{"true", "True"}, GI_JINJA_BOOL, 1},
        {{"false", "False"}, GI_JINJA_BOOL, 0},
        {{"none", "None"}, GI_JINJA_NONE, 0},
    };
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (gi_jinja_take(parser, constants[i].names[0]) ||
            gi_jinja_take(parser, constants[i].names[1])) {
            return new_constant(parser, (struct gi_jinja_value){.kind = constants[i].kind,
                                                                .number = constants[i].number});
        }
    }
    return new_name(parser);
}

static struct gi_jinja_node *parse_strings(struct gi_jinja_parser *parser)
{
    struct gi_jinja_text text = {0};
    while (!gi_jinja_has_failed(parser) && parser->lexer.token.kind == GI_JINJA_TOKEN_STRING) {
        gi_jinja_append(parser->lexer.pool, &text, parser->lexer.token.text);
        gi_jinja_advance(&parser->lexer);
    }
    return new_constant(parser, gi_jinja_written(&text));
}

static struct gi_jinja_node *parse_primary(struct gi_jinja_parser *parser)
{
    const struct gi_jinja_token token = parser->lexer.token;
    switch (token.kind) {
    case GI_JINJA_TOKEN_NAME:
        return parse_name(parser);
    case GI_JINJA_TOKEN_STRING:
        return parse_strings(parser);
    case GI_JINJA_TOKEN_INT:
        gi_jinja_advance(&parser->lexer);
        return new_constant(parser, gi_jinja_int(token.number));
    default:
        break;
    }
    if (gi_jinja_take(parser, "[")) {
        return parse_elements(parser, "]", false);
    }
    if (gi_jinja_take(parser, "{")) {
        return parse_elements(parser, "}", true);
    }
    if (!gi_jinja_take(parser, "(")) {
        gi_jinja_expect_failed(&parser->lexer, "an expression");
        return NULL;
    }
    if (gi_jinja_take(parser, ")")) {
        return gi_jinja_new_node(parser, GI_JINJA_NODE_LIST);
    }
    struct gi_jinja_node *node = gi_jinja_parse_tuple(parser);
    gi_jinja_expect(parser, ")");
    return node;
}

//-- what follows them -----------------------------------------------------------------------------

static struct gi_jinja_node *parse_subscript(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node)
{
    struct gi_jinja_node *bounds[3] = {NULL};
    int n_colon = 0;
    while (!gi_jinja_has_failed(parser) && !is_at(parser, "]")) {
        if (!gi_jinja_take(parser, ":")) {
            bounds[n_colon] = gi_jinja_parse_expression(parser, true);
        } else if (++n_colon > 2) {
            gi_jinja_expect_failed(&parser->lexer, "']'");
        }
    }
    gi_jinja_expect(parser, "]");
    if (n_colon == 0) {
        if (!bounds[0]) {
            gi_jinja_expect_failed(&parser->lexer, "an index");
        }
        return new_operation(parser, GI_JINJA_NODE_ITEM, node, bounds[0]);
    }
    struct gi_jinja_node *slice = new_operation(parser, GI_JINJA_NODE_SLICE, node, NULL);
    struct gi_jinja_node **end = &slice->list;
    for (int i = 0; i < 3; i++) {
        gi_jinja_add_node(&end, bounds[i] ? bounds[i] : new_constant(parser, gi_jinja_undefined()));
    }
    return slice;
}

static struct gi_jinja_node *parse_postfix(struct gi_jinja_parser *parser,
                                           struct gi_jinja_node *node)
{
    while (node && !gi_jinja_has_failed(parser)) {
        if (gi_jinja_take(parser, ".")) {
            if (parser->lexer.token.kind == GI_JINJA_TOKEN_INT) {
                node = new_operation(parser, GI_JINJA_NODE_ITEM, node, parse_primary(parser));
                continue;
            }
            node = new_operation(parser, GI_JINJA_NODE_ATTRIBUTE, node, NULL);
            node->name = gi_jinja_expect_name(parser);
        } else if (gi_jinja_take(parser, "[")) {
            node = parse_subscript(parser, node);
        } else if (gi_jinja_take(parser, "(")) {
            node = new_operation(parser, GI_JINJA_NODE_CALL, node, NULL);
            node->list = gi_jinja_parse_arguments(parser);
        } else {
            break;
        }
    }
    return gi_jinja_has_failed(parser) ? NULL : node;
}

struct gi_jinja_node *gi_jinja_parse_filter(struct gi_jinja_parser *parser,
                                            struct gi_jinja_node *node)
{
    node = new_operation(parser, GI_JINJA_NODE_FILTER, node, NULL);
    node->name = gi_jinja_expect_name(parser);
    node->list = gi_jinja_take(parser, "(") ? gi_jinja_parse_arguments(parser) : NULL;
    return node;
}

struct gi_jinja_node *gi_jinja_parse_filters(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node)
{
    while (!gi_jinja_has_failed(parser) && gi_jinja_take(parser, "|")) {
        node = gi_jinja_parse_filter(parser, node);
    }
    return node;
}

static bool is_test_argument(const struct gi_jinja_parser *parser)
{
    static const char *const others[] = {"else", "or", "and", "is", "if", "not", "in", NULL};
    const enum gi_jinja_token_kind kind = parser->lexer.token.kind;
    return (kind == GI_JINJA_TOKEN_NAME && !gi_jinja_at_any(parser, others)) ||
           kind == GI_JINJA_TOKEN_STRING || kind == GI_JINJA_TOKEN_INT || is_at(parser, "[");
}

static struct gi_jinja_node *parse_test(struct gi_jinja_parser *parser, struct gi_jinja_node *node)
{
    const bool is_not = gi_jinja_take(parser, "not");
    struct gi_jinja_node *test = new_operation(parser, GI_JINJA_NODE_TEST, node, NULL);
    test->name = gi_jinja_expect_name(parser);
    if (gi_jinja_take(parser, "(")) {
        test->list = gi_jinja_parse_arguments(parser);
    } else if (is_test_argument(parser)) {
        test->list = new_operation(parser, GI_JINJA_NODE_CONSTANT,
                                   parse_postfix(parser, parse_primary(parser)), NULL);
    }
    return is_not ? new_operation(parser, GI_JINJA_NODE_NOT, test, NULL) : test;
}

static struct gi_jinja_node *parse_unary(struct gi_jinja_parser *parser)
{
    const bool is_negative = gi_jinja_take(parser, "-");
    if (!is_negative) {
        gi_jinja_take(parser, "+");
    }
    struct gi_jinja_node *node = parse_postfix(parser, parse_primary(parser));
    if (is_negative) {
        node = new_operation(parser, GI_JINJA_NODE_NEGATE, node, NULL);
    }
    while (node && !gi_jinja_has_failed(parser)) {
        if (is_at(parser, "|")) {
            node = gi_jinja_parse_filters(parser, node);
        } else if (gi_jinja_take(parser, "is")) {
            node = parse_test(parser, node);
        } else if (is_at(parser, "(")) {
            node = parse_postfix(parser, node);
        } else {
            break;
        }
    }
    return node;
}

//-- operators, from those that bind most ----------------------------------------------------------

// Orders operators by how they bind, the closest first; `not` stands before its only operand.
enum { LEVEL_PRODUCT, LEVEL_JOIN, LEVEL_SUM, LEVEL_COMPARISON, LEVEL_NOT, LEVEL_AND, LEVEL_OR };

struct operator_name {
    const char *name;
    int level;
    enum gi_jinja_node_kind kind;
    enum gi_jinja_operator op; // of GI_JINJA_NODE_BINARY
};

static const struct operator_name operators[] = {
    {"*", LEVEL_PRODUCT, GI_JINJA_NODE_BINARY, GI_JINJA_MULTIPLY},
    {"//", LEVEL_PRODUCT, GI_JINJA_NODE_BINARY, GI_JINJA_DIVIDE},
    {"/", LEVEL_PRODUCT, GI_JINJA_NODE_BINARY, GI_JINJA_DIVIDE},
    {"%", LEVEL_PRODUCT, GI_JINJA_NODE_BINARY, GI_JINJA_MODULO},
    {"~", LEVEL_JOIN, GI_JINJA_NODE_BINARY, GI_JINJA_JOIN},
    {"+", LEVEL_SUM, GI_JINJA_NODE_BINARY, GI_JINJA_ADD},
    {"-", LEVEL_SUM, GI_JINJA_NODE_BINARY, GI_JINJA_SUBTRACT},
    {"==", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_EQUAL},
    {"!=", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_UNEQUAL},
    {"<", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_LESS},
    {"<=", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_LESS_EQUAL},
    {">", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_MORE},
    {">=", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_MORE_EQUAL},
    {"in", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_IN},
    {"not", LEVEL_COMPARISON, GI_JINJA_NODE_BINARY, GI_JINJA_NOT_IN},
    {"and", LEVEL_AND, GI_JINJA_NODE_AND, GI_JINJA_ADD},
    {"or", LEVEL_OR, GI_JINJA_NODE_OR, GI_JINJA_ADD},
};

// Steps over an operator of the level; NULL if none is there.
static const struct operator_name *take_operator(struct gi_jinja_parser *parser, int level)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const struct operator_name *each = &operators[i];
        const bool is_not = each->op == GI_JINJA_NOT_IN;
        if (each->level == level && (!is_not || gi_jinja_is_followed_by(&parser->lexer, "in")) &&
            gi_jinja_take(parser, each->name)) {
            return is_not && !gi_jinja_take(parser, "in") ? NULL : each;
        }
    }
    return NULL;
}

static struct gi_jinja_node *parse_level(struct gi_jinja_parser *parser, int level)
{
    if (level < LEVEL_PRODUCT) {
        return parse_unary(parser);
    }
    uint32_t n_not = 0;
    while (level == LEVEL_NOT && gi_jinja_take(parser, "not")) {
        n_not++;
    }
    struct gi_jinja_node *node = parse_level(parser, level - 1);
    const struct operator_name *found;
    while (node && (found = take_operator(parser, level))) {
        node = new_operation(parser, found->kind, node, parse_level(parser, level - 1));
        node->op = found->op;
    }
    while (n_not-- > 0) {
        node = new_operation(parser, GI_JINJA_NODE_NOT, node, NULL);
    }
    return gi_jinja_has_failed(parser) ? NULL : node;
}

struct gi_jinja_node *gi_jinja_parse_expression(struct gi_jinja_parser *parser, bool with_condition)
{
    struct gi_jinja_node *node = gi_jinja_enter(parser) ? parse_level(parser, LEVEL_OR) : NULL;
    while (with_condition && gi_jinja_take(parser, "if")) {
        node = new_operation(parser, GI_JINJA_NODE_IF_ELSE, node, parse_level(parser, LEVEL_OR));
        node->c = gi_jinja_take(parser, "else") ? gi_jinja_parse_expression(parser, true) : NULL;
    }
    parser->depth--;
    return gi_jinja_has_failed(parser) ? NULL : node;
}

struct gi_jinja_node *gi_jinja_parse_targets(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = NULL, **end = &first;
    const bool has_bracket = gi_jinja_take(parser, "(");
    do {
        struct gi_jinja_node *node = new_name(parser);
        if (gi_jinja_take(parser, ".")) {
            node = new_operation(parser, GI_JINJA_NODE_ATTRIBUTE, node, NULL);
            node->name = gi_jinja_expect_name(parser);
        }
        gi_jinja_add_node(&end, node);
    } while (gi_jinja_take(parser, ","));
    if (has_bracket) {
        gi_jinja_expect(parser, ")");
    }
    return first;
}
