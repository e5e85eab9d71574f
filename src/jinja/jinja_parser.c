#include "jinja/jinja_parser.h"

#include "jinja/jinja.h"

#include <stdlib.h>

enum { MAX_SIZE = 1 << 20, MAX_POOL = 16 << 20 };

static struct gi_jinja_node *parse_body(struct gi_jinja_parser *parser, const char *const *ends);

static void expect_end(struct gi_jinja_parser *parser)
{
    if (!gi_jinja_has_failed(parser) && parser->lexer.token.kind != GI_JINJA_TOKEN_END) {
        gi_jinja_expect_failed(&parser->lexer, "the tag's end");
    }
}

// Parses a body and steps over the statement that ends it.
static struct gi_jinja_node *parse_block(struct gi_jinja_parser *parser, const char *end)
{
    const char *const ends[] = {end, NULL};
    expect_end(parser);
    struct gi_jinja_node *body = parse_body(parser, ends);
    gi_jinja_expect(parser, end);
    return body;
}

//-- statements ------------------------------------------------------------------------------------

static struct gi_jinja_node *parse_if(struct gi_jinja_parser *parser)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct gi_jinja_node *first = NULL, **place = &first;
    do {
        struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_IF);
        node->a = gi_jinja_parse_tuple(parser);
        expect_end(parser);
        node->list = parse_body(parser, ends);
        *place = node;
        place = &node->other;
    } while (gi_jinja_take(parser, "elif"));
    if (gi_jinja_take(parser, "else")) {
        *place = parse_block(parser, "endif");
    } else {
        gi_jinja_expect(parser, "endif");
    }
    return first;
}

static struct gi_jinja_node *parse_for(struct gi_jinja_parser *parser)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_FOR);
    node->b = gi_jinja_parse_targets(parser);
    gi_jinja_expect(parser, "in");
    node->a = gi_jinja_parse_expression(parser, false);
    node->c = gi_jinja_take(parser, "if") ? gi_jinja_parse_expression(parser, true) : NULL;
    expect_end(parser);
    node->list = parse_body(parser, ends);
    if (gi_jinja_take(parser, "else")) {
        node->other = parse_block(parser, "endfor");
    } else {
        gi_jinja_expect(parser, "endfor");
    }
    return node;
}

static struct gi_jinja_node *parse_set(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_SET);
    node->b = gi_jinja_parse_targets(parser);
    if (gi_jinja_take(parser, "=")) {
        node->a = gi_jinja_parse_tuple(parser);
        return node;
    }
    struct gi_jinja_node *capture = gi_jinja_new_node(parser, GI_JINJA_NODE_CAPTURE);
    node->a = gi_jinja_parse_filters(parser, capture);
    capture->list = parse_block(parser, "endset");
    return node;
}

static struct gi_jinja_node *parse_macro(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_MACRO);
    node->name = gi_jinja_expect_name(parser);
    gi_jinja_expect(parser, "(");
    node->b = gi_jinja_parse_arguments(parser);
    node->list = parse_block(parser, "endmacro");
    return node;
}

// Parses a body that is written through filters.
static struct gi_jinja_node *parse_filter(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_PRINT);
    struct gi_jinja_node *capture = gi_jinja_new_node(parser, GI_JINJA_NODE_CAPTURE);
    node->a = gi_jinja_parse_filters(parser, gi_jinja_parse_filter(parser, capture));
    capture->list = parse_block(parser, "endfilter");
    return node;
}

// Parses the call of a macro that is given a body.
static struct gi_jinja_node *parse_call(struct gi_jinja_parser *parser)
{
    struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_BLOCK);
    node->b = gi_jinja_take(parser, "(") ? gi_jinja_parse_arguments(parser) : NULL;
    node->a = gi_jinja_parse_expression(parser, true);
    if (!gi_jinja_has_failed(parser) && node->a->kind != GI_JINJA_NODE_CALL) {
        gi_jinja_expect_failed(&parser->lexer, "a call");
    }
    node->list = parse_block(parser, "endcall");
    return node;
}

static struct gi_jinja_node *parse_statement(struct gi_jinja_parser *parser)
{
    static const struct {
        const char *name;
        struct gi_jinja_node *(*parse)(struct gi_jinja_parser *parser);
    } statements[] = {
        {"if", parse_if},       {"for", parse_for},       {"set", parse_set},
        {"macro", parse_macro}, {"filter", parse_filter}, {"call", parse_call},
    };
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (gi_jinja_take(parser, statements[i].name)) {
            return statements[i].parse(parser);
        }
    }
    if (gi_jinja_take(parser, "break")) {
        return gi_jinja_new_node(parser, GI_JINJA_NODE_BREAK);
    }
    if (gi_jinja_take(parser, "continue")) {
        return gi_jinja_new_node(parser, GI_JINJA_NODE_CONTINUE);
    }
    gi_jinja_expect_failed(&parser->lexer, "a statement");
    return NULL;
}

//-- bodies ----------------------------------------------------------------------------------------

static void add_tag(struct gi_jinja_parser *parser, enum gi_jinja_tag tag,
                    struct gi_jinja_node ***end)
{
    // The statements that mark the answer for training write nothing.
    if (tag == GI_JINJA_TAG_STATEMENT &&
        (gi_jinja_take(parser, "generation") || gi_jinja_take(parser, "endgeneration"))) {
        expect_end(parser);
        return;
    }
    struct gi_jinja_node *node;
    if (tag == GI_JINJA_TAG_STATEMENT) {
        node = parse_statement(parser);
    } else {
        struct gi_jinja_node *value = gi_jinja_parse_tuple(parser);
        node = gi_jinja_new_node(parser, GI_JINJA_NODE_PRINT);
        node->a = value;
    }
    expect_end(parser);
    gi_jinja_add_node(end, node);
}

// Parses up to a statement of ends, which becomes the current one; with none to the template's end.
static struct gi_jinja_node *parse_body(struct gi_jinja_parser *parser, const char *const *ends)
{
    struct gi_jinja_node *first = NULL, **end = &first;
    gi_jinja_enter(parser);
    while (!gi_jinja_has_failed(parser)) {
        struct gi_jinja_string text;
        const enum gi_jinja_tag tag = gi_jinja_next_tag(&parser->lexer, &text);
        if (text.size) {
            struct gi_jinja_node *node = gi_jinja_new_node(parser, GI_JINJA_NODE_TEXT);
            node->constant = gi_jinja_value_of(text);
            gi_jinja_add_node(&end, node);
        }
        if (tag == GI_JINJA_TAG_STATEMENT && gi_jinja_at_any(parser, ends)) {
            break;
        }
        if (tag == GI_JINJA_TAG_NONE) {
            if (*ends) {
                gi_jinja_fail(parser->lexer.pool, GLINFER_STATUS_UNSUPPORTED,
                              "the chat template ends before '%s'", *ends);
            }
            break;
        }
        if (tag != GI_JINJA_TAG_COMMENT) {
            add_tag(parser, tag, &end);
        }
    }
    parser->depth--;
    return first;
}

//-- the whole -------------------------------------------------------------------------------------

// Returns a copy whose lines end with a newline alone, as Jinja reads a template.
static struct gi_jinja_string copy_source(struct gi_jinja_pool *pool, struct gi_jinja_string source)
{
    struct gi_jinja_string copy = gi_jinja_copy(pool, source);
    char *data = (char *)copy.data; // the copy is ours
    size_t size = 0;
    for (size_t i = 0; i < copy.size; i++) {
        const bool is_pair = data[i] == '\r' && i + 1 < copy.size && data[i + 1] == '\n';
        data[size++] = data[i] == '\r' ? '\n' : data[i];
        i += is_pair;
    }
    copy.size = size - (size && data[size - 1] == '\n'); // nor with one newline at its end
    return copy;
}

struct gi_jinja *gi_jinja_create(const char *text, size_t size, struct glinfer_error *err)
{
    static const char *const none[] = {NULL};
    struct gi_jinja *jinja = calloc(1, sizeof(*jinja));
    if (!jinja) {
        gi_error_no_memory(err, sizeof(*jinja), "a chat template");
        return NULL;
    }
    gi_jinja_pool_init(&jinja->pool, MAX_POOL, err);
    if (size > MAX_SIZE) {
        gi_jinja_fail(&jinja->pool, GLINFER_STATUS_UNSUPPORTED,
                      "the chat template has %zu bytes, expected at most %d", size, MAX_SIZE);
    }
    jinja->pool.line = 1;
    struct gi_jinja_parser parser = {.lexer = {.pool = &jinja->pool}};
    parser.lexer.source = copy_source(&jinja->pool, (struct gi_jinja_string){text, NULL, size});
    jinja->body = parse_body(&parser, none);
    jinja->pool.err = NULL;
    if (jinja->pool.has_failed) {
        gi_jinja_destroy(jinja);
        return NULL;
    }
    return jinja;
}

void gi_jinja_destroy(struct gi_jinja *jinja)
{
    if (jinja) {
        gi_jinja_pool_finish(&jinja->pool);
        free(jinja);
    }
}
