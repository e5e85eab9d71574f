// JSON schemas as grammars: texts that each keyword allows and refuses, and what is refused of
// schemas, by its name. tests/unit/grammar/schema_samples.py has random schemas.
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Returns NULL after a failure.
static struct gi_grammar *compile(const char *schema, struct glinfer_error *err)
{
    return gi_json_schema_create(schema, strlen(schema), NULL, err);
}

static struct gi_grammar *grammar_of(const char *schema)
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = compile(schema, &err);
    if (!grammar) {
        fail_msg("%s: %s", schema, err.message);
    }
    return grammar;
}

static bool allows(const struct gi_grammar *grammar, const char *text, size_t size)
{
    const struct gi_grammar_matcher_params params = {.grammar = grammar};
    struct gi_grammar_matcher *matcher = gi_grammar_matcher_create(&params, NULL);
    struct gi_grammar_state state;
    assert_non_null(matcher);
    gi_grammar_state_init(&state, matcher);
    const bool is_ok =
        gi_grammar_accept_bytes(&state, text, size, NULL) && gi_grammar_may_end(&state);
    gi_grammar_state_finish(&state);
    gi_grammar_matcher_destroy(matcher);
    return is_ok;
}

// Texts have '~' between them.
static void expect(const char *schema, const char *texts, bool is_allowed)
{
    struct gi_grammar *grammar = grammar_of(schema);
    for (const char *end; texts; texts = *end ? end + 1 : NULL) {
        end = strchrnul(texts, '~');
        if (allows(grammar, texts, (size_t)(end - texts)) != is_allowed) {
            fail_msg("%s: '%.*s' is %s", schema, (int)(end - texts), texts,
                     is_allowed ? "refused" : "allowed");
        }
    }
    gi_grammar_destroy(grammar);
}

static void check_keyword(const char *const fields[])
{
    expect(fields[0], fields[1], true);
    expect(fields[0], fields[2], false);
}

TEST(keywords_allow_their_values)
{
    each_case("json_schema.cases", "keywords", check_keyword);
}

TEST(integers_have_bounds)
{
    static const int bounds[][2] = {{0, 9},    {0, 0},     {-5, 5},     {13, 13},   {7, 123},
                                    {99, 101}, {-120, -7}, {-99, 1000}, {250, 399}, {-1, 0}};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        char schema[128], text[16];
        snprintf(schema, sizeof(schema),
                 "{\"type\":\"integer\",\"minimum\":%d,\"exclusiveMaximum\":%d.5}", bounds[i][0],
                 bounds[i][1]);
        const int most = bounds[i][1] < 0 ? bounds[i][1] - 1 : bounds[i][1];
        struct gi_grammar *grammar = grammar_of(schema);
        for (int n = -1200; n <= 1200; n++) {
            const int size = snprintf(text, sizeof(text), "%d", n);
            if (allows(grammar, text, (size_t)size) != (n >= bounds[i][0] && n <= most)) {
                fail_msg("%s: %d", schema, n);
            }
        }
        gi_grammar_destroy(grammar);
    }
}

static void check_refusal(const char *const fields[])
{
    struct glinfer_error err = {0};
    if (compile(fields[0], &err) || !strstr(err.message, fields[1]) ||
        strstr(err.message, "line ")) {
        fail_msg("%s: \"%s\", expected \"%s\"", fields[0], err.message, fields[1]);
    }
}

TEST(refusals_name_the_place)
{
    each_case("json_schema.cases", "refusals", check_refusal);
}

// Unknown keywords and those that only describe ask for nothing.
TEST(annotations_are_ignored)
{
    static const char schema[] =
        "{\"type\":\"string\",\"title\":\"t\",\"discriminator\":{\"propertyName\":\"k\"},"
        "\"nullable\":true,\"x-order\":3,\"contentMediaType\":\"text/html\",\"format\":"
        "\"password\",\"strict\":true,\"$defs\":{\"unused\":{\"pattern\":\"(\"}}}";
    expect(schema, "\"a\"", true);
    expect(schema, "null", false);
}

TEST(nesting_and_sizes_are_bounded)
{
    static char schema[8192];
    struct glinfer_error err = {0};
    size_t size = 0;
    for (int i = 0; i < 200; i++) {
        size += (size_t)sprintf(schema + size, "{\"items\":");
    }
    size += (size_t)sprintf(schema + size, "{\"type\":\"null\"}");
    memset(schema + size, '}', 200);
    schema[size + 200] = 0;
    gi_grammar_destroy(grammar_of(schema));
    // 2^12 cases.
    size = (size_t)sprintf(schema, "{\"allOf\":[true");
    for (int i = 1; i <= 12; i++) {
        size += (size_t)sprintf(schema + size, ",{\"anyOf\":[{\"minLength\":%d},{\"minimum\":%d}]}",
                                i, i);
    }
    sprintf(schema + size, "]}");
    assert_null(compile(schema, &err));
    assert_says(err.message, "more than 400 cases");
    static const char *const bombs[] = {
        "{\"pattern\":\"^(((a{0,99}){0,99}){0,99}){0,99}$\"}",
        "{\"minLength\":30000}",
        "{\"minProperties\":3000000000,\"maxProperties\":4000000000}",
        // Two schemas that have to hold together and lead to each other.
        "{\"$defs\":{\"a\":{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#/$defs/a\"},"
        "\"y\":{\"$ref\":\"#/$defs/a\"}}},\"b\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/b\"},"
        "\"y\":{\"$ref\":\"#/$defs/b\"}},\"required\":[\"y\"]}},"
        "\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/b\"}]}",
    };
    for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
        if (compile(bombs[i], &err)) {
            fail_msg("%s is taken", bombs[i]);
        }
    }
}

TEST(lists_end_at_their_limits)
{
    static const char schema[] =
        "{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"maxItems\":10000}";
    static char text[60000];
    struct gi_grammar *grammar = grammar_of(schema);
    size_t size = (size_t)sprintf(text, "[null");
    for (int i = 1; i < 10000; i++) {
        size += (size_t)sprintf(text + size, ",null");
    }
    text[size] = ']';
    assert_true(allows(grammar, text, size + 1));
    memcpy(text + size, ",null]", 6);
    assert_false(allows(grammar, text, size + 6));
    gi_grammar_destroy(grammar);
}

// A grammar leaves out of a hint what it cannot keep to, and keeps the rest.
TEST(hints_leave_unsupported_keywords_out)
{
    static const char *const schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1e99999,"
        "\"maximum\":3},\"b\":{\"$ref\":\"http://x/y\",\"type\":\"string\",\"pattern\":"
        "\"^[0-9]{4}$\"},\"c\":{\"type\":\"integer\",\"minimum\":5,\"maximum\":4},\"d\":{"
        "\"$ref\":\"#/properties/d\"},\"e\":{\"type\":\"string\",\"pattern\":\"(\"}},"
        "\"required\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}",
        "{\"type\":\"object\",\"required\":[\"a\"],\"additionalProperties\":false}",
        "false",
    };
    static const struct {
        const char *text;
        bool is_allowed;
    } cases[] = {
        {"f{\"a\":3,\"b\":\"1234\",\"c\":7,\"d\":null,\"e\":\"x\"}", true},
        {"f{\"a\":4,\"b\":\"1234\",\"c\":7,\"d\":null,\"e\":\"x\"}", false},
        {"f{\"a\":3,\"b\":\"123\",\"c\":7,\"d\":null,\"e\":\"x\"}", false},
        {"f{\"a\":3,\"b\":\"1234\",\"c\":\"7\",\"d\":null,\"e\":\"x\"}", false},
        {"f{\"a\":3,\"b\":\"1234\",\"c\":7,\"d\":null,\"e\":1}", false},
        {"g{\"a\":1}", true},
        {"g1", false},
        {"h1", true},
    };
    struct gi_grammar *grammar = must_do(gi_json_schema_rules(
        "root ::= \"f\" json-1 | \"g\" json-2 | \"h\" json-3", schemas, 3, true, NULL, &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (allows(grammar, cases[i].text, strlen(cases[i].text)) != cases[i].is_allowed) {
            fail_msg("%s", cases[i].text);
        }
    }
    gi_grammar_destroy(grammar);
}

TEST(every_allocation_may_fail)
{
    static const char schema[] = "{\"properties\":{\"a\":{\"enum\":[1,\"x\"]},\"b\":{\"allOf\":[{"
                                 "\"properties\":{\"c\":{\"type\":\"string\"}}},"
                                 "{\"properties\":{\"c\":{\"minLength\":2}}}]},\"d\":{\"anyOf\":[{"
                                 "\"$ref\":\"#\"},{\"prefixItems\":[{}]}]}},"
                                 "\"additionalProperties\":{\"pattern\":\"^a$\"}}";
    for (long n = 0; n < 2000; n++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n);
        struct gi_grammar *grammar = gi_json_schema_create(schema, strlen(schema), NULL, &err);
        fail_allocations_after(-1);
        if (grammar) {
            gi_grammar_destroy(grammar);
            assert_in_range(n, 10, 1999);
            return;
        }
        assert_true(err.message[0] != 0);
    }
    fail_msg("no number of allocations is enough");
}

// Calls of tools are JSON in a frame.
TEST(json_may_stand_in_a_frame)
{
    const char *schema = "{\"const\": 1}";
    const struct gi_schema_frame frame = {"<call>\n\"", "\xC3\xA9</call>", 2, NULL};
    struct gi_grammar *grammar = gi_json_schema_create(schema, strlen(schema), &frame, NULL);
    assert_non_null(grammar);
    static const struct {
        const char *text;
        bool is_allowed;
    } cases[] = {
        {"<call>\n\"1\xC3\xA9</call>", true},
        {"<call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call>", true},
        {"<call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call>", false},
        {"1", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(allows(grammar, cases[i].text, strlen(cases[i].text)),
                         cases[i].is_allowed);
    }
    gi_grammar_destroy(grammar);
}

// Grammars name rules that are JSON by schemas, each with definitions of its own.
TEST(schemas_are_rules_of_a_grammar)
{
    static const char *const schemas[] = {
        "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"const\": 1}}}",
        "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"enum\": [\"x\", \"y\"]}}}",
    };
    static const char gbnf[] = "root ::= \"f\" json-1 | \"g\" json-2";
    struct gi_grammar *grammar = gi_json_schema_rules(gbnf, schemas, 2, false, NULL, NULL);
    assert_non_null(grammar);
    assert_true(allows(grammar, "f1", 2) && allows(grammar, "g\"y\"", 4));
    assert_false(allows(grammar, "g1", 2) || allows(grammar, "f\"y\"", 4));
    gi_grammar_destroy(grammar);
    static const char *const wrong[] = {"{}", "{\"pattern\": \"(\"}"};
    must_fail(gi_json_schema_rules(gbnf, wrong, 2, false, NULL, &err), UNSUPPORTED, "");
    static const char *const endless[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}"};
    must_fail(gi_json_schema_rules("root ::= json-1", endless, 1, false, NULL, &err), UNSUPPORTED,
              "JSON schema: every allowed value");
    // The grammar itself never ends, whatever its schemas allow.
    must_fail(gi_json_schema_rules("root ::= json-1 root", schemas, 1, false, NULL, &err),
              INVALID_ARGUMENT, "the rule 'root' never ends");
}

TEST(more_texts_than_nodes_are_refused)
{
    const struct gi_schema_frame frame = {"<", ">", UINT32_MAX - 1, NULL};
    must_fail(gi_json_schema_create("{}", 2, &frame, &err), INVALID_ARGUMENT, "too large");
}

RUN_TESTS(NULL, NULL)
