#include "jinja/jinja_parser.h"

enum { MAX_DEPTH = 100 };

bool gi_jinja_at(const struct gi_jinja_parser *parser, const char *word)
{
    const struct gi_jinja_token *token = &parser->lexer.token;
    return (token->kind == GI_JINJA_TOKEN_NAME || token->kind == GI_JINJA_TOKEN_SIGN) &&
           gi_jinja_is(token->text, word);
}

bool gi_jinja_take(struct gi_jinja_parser *parser, const char *word)
{
    const bool is_there = !gi_jinja_has_failed(parser) && gi_jinja_at(parser, word);
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
    struct gi_jinja_node *node = gi_jinja_allocate(parser->lexer.pool, sizeof(*node));
    if (node) {
        node->kind = kind;
        node->line = gi_jinja_line(&parser->lexer);
    }
    return node;
}

static struct gi_jinja_node *new_constant(struct gi_jinja_parser *parser,
                                          struct gi_jinja_value value)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_CONSTANT);
    if (node) {
        node->constant = value;
    }
    return node;
}

// A node of operands; NULL if one that is needed is.
static struct gi_jinja_node *new_operation(struct gi_jinja_parser *parser,
                                           enum gi_jinja_node_kind kind, struct gi_jinja_node *a,
                                           struct gi_jinja_node *b)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, kind);
    if (node) {
        node->a = a;
        node->b = b;
    }
    return node;
}

static void add_node(struct gi_jinja_node ***end, struct gi_jinja_node *node)
{
    if (node) {
        **end = node;
        *end = &node->next;
    }
}

//-- the smallest parts ----------------------------------------------------------------------------

struct gi_jinja_node *gi_jinja_parse_arguments(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = NULL, **end = &first;
    while (!gi_jinja_has_failed(parser) && !gi_jinja_take(parser, ")")) {
        const struct gi_jinja_lexer before = parser->lexer;
        struct gi_jinja_string name = {0};
        if (before.token.kind == GI_JINJA_TOKEN_NAME) {
            gi_jinja_advance(&parser->lexer);
            if (gi_jinja_take(parser, "=")) {
                name = before.token.text;
            } else {
                parser->lexer = before;
            }
        }
        // An element of a list is a node of its own: what it holds may be an element elsewhere.
        struct gi_jinja_node *argument = new_operation(
            parser, GI_JINJA_NODE_CONSTANT, gi_jinja_parse_expression(parser, true), NULL);
        if (argument) {
            argument->name = name;
        }
        add_node(&end, argument);
        if (!gi_jinja_take(parser, ",") && !gi_jinja_at(parser, ")")) {
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
        add_node(&end, gi_jinja_parse_expression(parser, true));
        if (is_dict) {
            gi_jinja_expect(parser, ":");
            add_node(&end, gi_jinja_parse_expression(parser, true));
        }
        if (!gi_jinja_take(parser, ",") && !gi_jinja_at(parser, close)) {
            gi_jinja_expect_failed(&parser->lexer, close);
        }
    }
    if (node) {
        node->list = first;
    }
    return node;
}

struct gi_jinja_node *gi_jinja_parse_tuple(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = gi_jinja_parse_expression(parser, true);
    if (!first || !gi_jinja_at(parser, ",")) {
        return first;
    }
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_LIST), **end;
    if (!node) {
        return NULL;
    }
    node->list = first;
    end = &first->next;
    while (gi_jinja_take(parser, ",") && parser->lexer.token.kind != GI_JINJA_TOKEN_END &&
           !gi_jinja_at(parser, ")")) {
        add_node(&end, gi_jinja_parse_expression(parser, true));
    }
    return node;
}

static struct gi_jinja_node *parse_name(struct gi_jinja_parser *parser)
{
    static const struct {
        const char *names[2];
        enum gi_jinja_kind kind;
        int64_t number;
    } constants[] = {
        {{"true", "True"},   GI_JINJA_BOOL, 1},
        {{"false", "False"}, GI_JINJA_BOOL, 0},
        {{"none", "None"},   GI_JINJA_NONE, 0},
    };
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (gi_jinja_take(parser, constants[i].names[0]) ||
            gi_jinja_take(parser, constants[i].names[1])) {
            return new_constant(parser, (struct gi_jinja_value){.kind = constants[i].kind,
                                                                .number = constants[i].number});
        }
    }
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_NAME);
    const struct gi_jinja_string name = gi_jinja_expect_name(parser);
    if (node) {
        node->name = name;
    }
    return node;
}

static struct gi_jinja_node *parse_strings(struct gi_jinja_parser *parser)
{
    struct gi_jinja_text text = {0};
    while (!gi_jinja_has_failed(parser) && parser->lexer.token.kind == GI_JINJA_TOKEN_STRING) {
        gi_jinja_append(parser->lexer.pool, &text, parser->lexer.token.text);
        gi_jinja_advance(&parser->lexer);
    }
    return new_constant(parser, gi_jinja_text_value(gi_jinja_text_string(&text)));
}

static struct gi_jinja_node *parse_primary(struct gi_jinja_parser *parser)
{
    const struct gi_jinja_token token = parser->lexer.token;
    struct gi_jinja_node *node;
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
    node = gi_jinja_parse_tuple(parser);
    gi_jinja_expect(parser, ")");
    return node;
}

//-- what follows them -----------------------------------------------------------------------------

static struct gi_jinja_node *parse_subscript(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node)
{
    struct gi_jinja_node *bounds[3] = {NULL};
    int n_colon = 0;
    while (!gi_jinja_has_failed(parser) && !gi_jinja_at(parser, "]")) {
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
    for (int i = 3; slice && i-- > 0;) {
        struct gi_jinja_node *bound =
            bounds[i] ? bounds[i] : new_constant(parser, gi_jinja_undefined());
        if (bound) {
            bound->next = slice->list;
            slice->list = bound;
        }
    }
    return slice;
}

static struct gi_jinja_node *parse_postfix(struct gi_jinja_parser *parser,
                                           struct gi_jinja_node *node)
{
    while (node && !gi_jinja_has_failed(parser)) {
        if (gi_jinja_take(parser, ".")) {
            node = new_operation(parser, GI_JINJA_NODE_ATTRIBUTE, node, NULL);
            const struct gi_jinja_string name = gi_jinja_expect_name(parser);
            if (node) {
                node->name = name;
            }
        } else if (gi_jinja_take(parser, "[")) {
            node = parse_subscript(parser, node);
        } else if (gi_jinja_take(parser, "(")) {
            node = new_operation(parser, GI_JINJA_NODE_CALL, node, NULL);
            struct gi_jinja_node *list = gi_jinja_parse_arguments(parser);
            if (node) {
                node->list = list;
            }
        } else {
            break;
        }
    }
    return gi_jinja_has_failed(parser) ? NULL : node;
}

struct gi_jinja_node *gi_jinja_parse_filters(struct gi_jinja_parser *parser,
                                             struct gi_jinja_node *node)
{
    while (!gi_jinja_has_failed(parser) && gi_jinja_take(parser, "|")) {
        struct gi_jinja_node *filter = new_operation(parser, GI_JINJA_NODE_FILTER, node, NULL);
        const struct gi_jinja_string name = gi_jinja_expect_name(parser);
        struct gi_jinja_node *list =
            gi_jinja_take(parser, "(") ? gi_jinja_parse_arguments(parser) : NULL;
        if (filter) {
            filter->name = name;
            filter->list = list;
        }
        node = filter;
    }
    return node;
}

static bool is_test_argument(const struct gi_jinja_parser *parser)
{
    const struct gi_jinja_token *token = &parser->lexer.token;
    const bool is_word = gi_jinja_at(parser, "else") || gi_jinja_at(parser, "or") ||
                         gi_jinja_at(parser, "and") || gi_jinja_at(parser, "is") ||
                         gi_jinja_at(parser, "if") || gi_jinja_at(parser, "not") ||
                         gi_jinja_at(parser, "in");
    return (token->kind == GI_JINJA_TOKEN_NAME && !is_word) ||
           token->kind == GI_JINJA_TOKEN_STRING || token->kind == GI_JINJA_TOKEN_INT ||
           gi_jinja_at(parser, "[");
}

static struct gi_jinja_node *parse_test(struct gi_jinja_parser *parser, struct gi_jinja_node *node)
{
    const bool is_not = gi_jinja_take(parser, "not");
    struct gi_jinja_node *test = new_operation(parser, GI_JINJA_NODE_TEST, node, NULL);
    const struct gi_jinja_string name = gi_jinja_expect_name(parser);
    struct gi_jinja_node *list = NULL;
    if (gi_jinja_take(parser, "(")) {
        list = gi_jinja_parse_arguments(parser);
    } else if (is_test_argument(parser)) {
        list = new_operation(parser, GI_JINJA_NODE_CONSTANT,
                             parse_postfix(parser, parse_primary(parser)), NULL);
    }
    if (test) {
        test->name = name;
        test->list = list;
    }
    return is_not ? new_operation(parser, GI_JINJA_NODE_NOT, test, NULL) : test;
}

static struct gi_jinja_node *parse_unary(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node;
    if (gi_jinja_take(parser, "-")) {
        node = new_operation(parser, GI_JINJA_NODE_NEGATE,
                             parse_postfix(parser, parse_primary(parser)), NULL);
    } else {
        gi_jinja_take(parser, "+");
        node = parse_postfix(parser, parse_primary(parser));
    }
    while (node && !gi_jinja_has_failed(parser)) {
        if (gi_jinja_at(parser, "|")) {
            node = gi_jinja_parse_filters(parser, node);
        } else if (gi_jinja_take(parser, "is")) {
            node = parse_test(parser, node);
        } else if (gi_jinja_at(parser, "(")) {
            node = parse_postfix(parser, node);
        } else {
            break;
        }
    }
    return node;
}

//-- operators, from those that bind most ----------------------------------------------------------

struct operator_name {
    const char *name;
    enum gi_jinja_operator op;
};

static const struct operator_name products[] = {
    {"*",  GI_JINJA_MULTIPLY},
    {"//", GI_JINJA_DIVIDE  },
    {"/",  GI_JINJA_DIVIDE  },
    {"%",  GI_JINJA_MODULO  },
    {NULL, GI_JINJA_ADD     }
};
static const struct operator_name joins[] = {
    {"~",  GI_JINJA_JOIN},
    {NULL, GI_JINJA_ADD }
};
static const struct operator_name sums[] = {
    {"+",  GI_JINJA_ADD     },
    {"-",  GI_JINJA_SUBTRACT},
    {NULL, GI_JINJA_ADD     }
};
static const struct operator_name comparisons[] = {
    {"==", GI_JINJA_EQUAL     },
    {"!=", GI_JINJA_UNEQUAL   },
    {"<",  GI_JINJA_LESS      },
    {"<=", GI_JINJA_LESS_EQUAL},
    {">",  GI_JINJA_MORE      },
    {">=", GI_JINJA_MORE_EQUAL},
    {"in", GI_JINJA_IN        },
    {NULL, GI_JINJA_ADD       }
};
static const struct operator_name *const levels[] = {products, joins, sums, comparisons};

// An operator of the level, stepped over.
static bool take_operator(struct gi_jinja_parser *parser, const struct operator_name *names,
                          enum gi_jinja_operator *op)
{
    for (; names->name; names++) {
        if (gi_jinja_take(parser, names->name)) {
            *op = names->op;
            return true;
        }
    }
    return false;
}

static bool take_not_in(struct gi_jinja_parser *parser, enum gi_jinja_operator *op)
{
    const struct gi_jinja_lexer before = parser->lexer;
    if (gi_jinja_take(parser, "not") && gi_jinja_take(parser, "in")) {
        *op = GI_JINJA_NOT_IN;
        return true;
    }
    if (!gi_jinja_has_failed(parser)) {
        parser->lexer = before;
    }
    return false;
}

static struct gi_jinja_node *parse_level(struct gi_jinja_parser *parser, int level)
{
    struct gi_jinja_node *node = level == 0 ? parse_unary(parser) : parse_level(parser, level - 1);
    enum gi_jinja_operator op;
    while (node && !gi_jinja_has_failed(parser) &&
           (take_operator(parser, levels[level], &op) ||
            (levels[level] == comparisons && take_not_in(parser, &op)))) {
        struct gi_jinja_node *right =
            level == 0 ? parse_unary(parser) : parse_level(parser, level - 1);
        node = new_operation(parser, GI_JINJA_NODE_BINARY, node, right);
        if (node) {
            node->op = op;
        }
    }
    return gi_jinja_has_failed(parser) ? NULL : node;
}

static struct gi_jinja_node *parse_not(struct gi_jinja_parser *parser)
{
    uint32_t n_not = 0;
    while (gi_jinja_take(parser, "not")) {
        n_not++;
    }
    struct gi_jinja_node *node = parse_level(parser, 3);
    for (uint32_t i = 0; i < n_not; i++) {
        node = new_operation(parser, GI_JINJA_NODE_NOT, node, NULL);
    }
    return node;
}

static struct gi_jinja_node *parse_and(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = parse_not(parser);
    while (gi_jinja_take(parser, "and")) {
        node = new_operation(parser, GI_JINJA_NODE_AND, node, parse_not(parser));
    }
    return node;
}

static struct gi_jinja_node *parse_or(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = parse_and(parser);
    while (gi_jinja_take(parser, "or")) {
        node = new_operation(parser, GI_JINJA_NODE_OR, node, parse_and(parser));
    }
    return node;
}

struct gi_jinja_node *gi_jinja_parse_expression(struct gi_jinja_parser *parser, bool with_condition)
{
    if (++parser->depth > MAX_DEPTH) {
        gi_jinja_fail(parser->lexer.pool, GLINFER_STATUS_UNSUPPORTED,
                      "line %u of the chat template: nested too deeply",
                      gi_jinja_line(&parser->lexer));
    }
    struct gi_jinja_node *node = gi_jinja_has_failed(parser) ? NULL : parse_or(parser);
    while (with_condition && gi_jinja_take(parser, "if")) {
        node = new_operation(parser, GI_JINJA_NODE_IF_ELSE, node, parse_or(parser));
        struct gi_jinja_node *other =
            gi_jinja_take(parser, "else") ? gi_jinja_parse_expression(parser, true) : NULL;
        if (node) {
            node->c = other;
        }
    }
    parser->depth--;
    return gi_jinja_has_failed(parser) ? NULL : node;
}

struct gi_jinja_node *gi_jinja_parse_targets(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *first = NULL, **end = &first;
    const bool has_bracket = gi_jinja_take(parser, "(");
    do {
        struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_NAME);
        struct gi_jinja_string name = gi_jinja_expect_name(parser);
        if (gi_jinja_take(parser, ".")) {
            struct gi_jinja_node *object = node;
            if (object) {
                object->name = name;
            }
            node = new_operation(parser, GI_JINJA_NODE_ATTRIBUTE, object, NULL);
            name = gi_jinja_expect_name(parser);
        }
        if (node) {
            node->name = name;
        }
        add_node(&end, node);
    } while (gi_jinja_take(parser, ","));
    if (has_bracket) {
        gi_jinja_expect(parser, ")");
    }
    return first;
}
