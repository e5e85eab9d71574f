// JSON schemas as grammars: texts that each keyword allows and refuses, and what is refused of
// schemas, by its name. tests/unit/grammar/schema_samples.py has random schemas.
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"
#include "tests/unit/cmocka_test.h"
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

struct keyword_case {
    const char *schema, *allowed, *refused;
};

static void expect_all(const struct keyword_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect(cases[i].schema, cases[i].allowed, true);
        expect(cases[i].schema, cases[i].refused, false);
    }
}
#define EXPECT_ALL(cases) expect_all(cases, sizeof(cases) / sizeof((cases)[0]))

TEST(types_allow_their_values)
{
    static const struct keyword_case cases[] = {
        {"{}", "1~\"a\"~[1, {\"a\": null}]~{\n  \"b\": [ ]\n}~-0.5e+10~\"\\ud83d\\ude00\"",
         "~01~'a'~[1,]~{\"a\" 1}~\"\\ud83d\"~\"\\x\"~1 ~{   }~[1 2]"},
        {"true", "1~[]", "x"},
        {"{\"type\":\"object\"}", "{}~{\"a\":1,\"b\":[{}]}", "[]~1~{\"a\"}~{1:2}"},
        {"{\"type\":\"string\"}", "\"\"~\"a\\n\\u00e9\xC3\xA9\"", "a~1~\"\n\"~\"\\\""},
        {"{\"type\":\"integer\"}", "0~-12~99999999999999999999",
         "01~1.0~--1~+1~999999999999999999999"},
        {"{\"type\":\"number\"}", "0~-1.50~1e5~2E-10", "1.~.5~1e~1e100"},
        {"{\"type\":[\"boolean\",\"null\"]}", "true~false~null", "0~True"},
        {"{\"type\":\"array\"}", "[]~[1,[2]]~[\n 1 ,2 ]", "[~[,]"},
        {"{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"$schema\":\"s\",\"$id\":\"i\"}",
         "1", "x"},
    };
    EXPECT_ALL(cases);
}

TEST(constants_are_literal)
{
    static const struct keyword_case cases[] = {
        {"{\"const\":\"a\\\"b\\n\"}", "\"a\\\"b\\n\"", "\"a\"~a"},
        {"{\"const\":{\"a\":[1,null]}}", "{\"a\":[1,null]}", "{}"},
        {"{\"enum\":[\"red\",5,null,\"\xC3\xA9\"]}", "\"red\"~5~null~\"\xC3\xA9\"",
         "red~6~\"green\""},
        {"{\"type\":\"string\",\"enum\":[\"a\",1]}", "\"a\"", "1"},
        {"{\"type\":\"integer\",\"enum\":[1,2.5]}", "1", "2.5"},
    };
    EXPECT_ALL(cases);
}

TEST(strings_have_sizes_patterns_and_formats)
{
    static const struct keyword_case cases[] = {
        {"{\"type\":\"string\",\"minLength\":2}", "\"ab\"~\"\\n\xC3\xA9z\"", "\"a\"~\"\""},
        {"{\"maxLength\":2}", "\"\"~\"\\u00e9\xE6\x97\xA5\"", "\"abc\"~1"},
        {"{\"minLength\":1,\"maxLength\":1}", "\"\\ud83d\\ude00\"", "\"\"~\"ab\""},
        {"{\"pattern\":\"^[a-f]{2,3}\\\\d?$\"}", "\"ab\"~\"abc1\"", "\"a\"~\"abcd\"~\"ab12\""},
        {"{\"pattern\":\"^(\\\\(\\\\d{3}\\\\))?\\\\d+-(?:x|y)*$\"}", "\"(123)4-\"~\"4-xyx\"",
         "\"()4-\"~\"-x\""},
        {"{\"pattern\":\"^.[^a-z\\\\s]$\"}", "\"aA\"~\"\\\"\\\\\"~\"\xC3\xA9_\"",
         "\"ab\"~\"A\"~\"A \"~\"\\n1\""},
        {"{\"pattern\":\"^\\\"\\\\\\\\\\\\n\\\\x41\\\\u00e9$\"}", "\"\\\"\\\\\\nA\xC3\xA9\"",
         "\"A\""},
        {"{\"pattern\":\"^\\\\w\\\\W+?$\"}", "\"_-+\"", "\"-_\"~\"__\""},
        {"{\"format\":\"date\"}", "\"2024-02-29\"~\"1999-12-31\"~\"2000-02-29\"",
         "\"2023-02-29\"~\"1900-02-29\"~\"2024-13-01\"~\"2024-04-31\"~\"0000-01-01\""},
        {"{\"format\":\"time\"}", "\"23:59:59Z\"~\"00:00:00.123+05:30\"",
         "\"24:00:00Z\"~\"12:60:00Z\"~\"12:00:00\""},
        {"{\"format\":\"date-time\"}", "\"2024-01-01T00:00:00Z\"", "\"2024-01-01 00:00:00Z\""},
        {"{\"format\":\"uuid\"}", "\"01234567-89ab-cdef-0123-456789ABCDEF\"", "\"0123\""},
    };
    EXPECT_ALL(cases);
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
    static const struct keyword_case cases[] = {
        {"{\"type\":\"integer\",\"minimum\":5}", "5~10~9999999999999999", "4~-5~05"},
        {"{\"type\":\"integer\",\"maximum\":-3}", "-3~-123456789", "-2~3~0"},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":-1,\"exclusiveMaximum\":2}", "0~1", "-1~2"},
    };
    EXPECT_ALL(cases);
}

TEST(arrays_have_items)
{
    static const struct keyword_case cases[] = {
        {"{\"items\":{\"type\":\"integer\"}}", "[]~[1]~[1, 2,3]", "[\"a\"]~[1,]~1"},
        {"{\"type\":\"array\",\"minItems\":2}", "[1,\"a\"]~[1,2,3]", "[]~[1]"},
        {"{\"items\":{\"type\":\"null\"},\"minItems\":1,\"maxItems\":2}", "[null]~[null,null]",
         "[]~[null,null,null]"},
        {"{\"items\":{},\"maxItems\":0}", "[]", "[1]"},
        {"{\"items\":false}", "[]", "[1]"},
        {"{\"prefixItems\":[{\"type\":\"integer\"},{\"const\":\"a\"}]}", "[1, \"a\"]",
         "[]~[1]~[1,\"a\",2]~[\"a\",1]"},
        {"{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":{\"type\":\"null\"},\"minItems\":2}",
         "[1,null]~[1,null,null]", "[1]~[null,null]"},
        {"{\"prefixItems\":[true,true],\"maxItems\":1}", "[1]", "[]~[1,2]"},
        {"{\"prefixItems\":[{\"type\":\"integer\"}],\"minItems\":2,\"maxItems\":2}", "[1,\"x\"]",
         "[1]~[1,2,3]"},
        {"{\"items\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}", "[1,null]", "[1]~[null,1]"},
    };
    EXPECT_ALL(cases);
}

TEST(objects_have_properties_in_order)
{
    static const struct keyword_case cases[] = {
        {"{\"properties\":{\"b\":{\"type\":\"integer\"},\"a\":{\"type\":\"null\"}}}",
         "{}~{\"b\":1}~{\"a\":null}~{\"b\": 1, \"a\": null}",
         "{\"a\":null,\"b\":1}~{\"c\":1}~{\"b\":1,}~{,\"a\":null}"},
        {"{\"properties\":{\"a\":{},\"b\":{\"const\":1},\"c\":{}},\"required\":[\"b\"]}",
         "{\"b\":1}~{\"a\":[],\"b\":1}~{\"b\":1,\"c\":0}", "{}~{\"a\":1}~{\"a\":1,\"c\":1}"},
        {"{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}", "{}~{ }",
         "{\"a\":1}"},
        {"{\"additionalProperties\":{\"type\":\"integer\"}}", "{}~{\"x\":1,\"\":2}",
         "{\"x\":\"a\"}"},
        {"{\"properties\":{\"ab\":{\"const\":1},\"a\\\"\":{\"const\":2}},\"additionalProperties\":{"
         "\"const\":0}}",
         "{\"ab\":1,\"a\":0,\"abc\":0,\"\":0,\"a\\\\\":0}~{\"a\\\"\":2}~{\"a\\\"x\":0,\"\\n\":0}",
         "{\"ab\":0}~{\"a\\\"\":0}~{\"\\u0061b\":0}~{\"x\":1}"},
        {"{\"required\":[\"z\"],\"additionalProperties\":{\"const\":3}}",
         "{\"z\":3}~{\"z\":3,\"y\":3}", "{}~{\"z\":1}"},
        {"{\"required\":[\"z\"]}", "{\"z\":[1]}", "{}~{\"a\":1}"},
        {"{\"properties\":{\"\\n\xC3\xA9\":true},\"required\":[\"\\n\xC3\xA9\"]}",
         "{\"\\n\xC3\xA9\":1}", "{}"},
    };
    EXPECT_ALL(cases);
}

TEST(schemas_combine)
{
    static const struct keyword_case cases[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"const\":\"x\"}]}", "1~\"x\"", "\"y\"~null"},
        {"{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"boolean\"}],\"title\":\"t\"}", "null~true",
         "1"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1}},\"anyOf\":[{\"required\":["
         "\"a\"]},{\"properties\":{\"b\":"
         "{\"const\":2}},\"required\":[\"b\"]}]}",
         "{\"a\":1}~{\"b\":2}~{\"a\":1,\"b\":2}", "{}"},
        {"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},{"
         "\"properties\":{\"b\":{},\"a\":"
         "{\"minimum\":3}},\"required\":[\"b\"]}]}",
         "{\"a\":3,\"b\":1}", "{\"a\":2,\"b\":1}~{\"a\":3}~{\"b\":1}"},
        {"{\"allOf\":[{\"$ref\":\"#/$defs/"
         "x\"},{\"required\":[\"k\"]}],\"$defs\":{\"x\":{\"properties\":{\"k\":{\"const\":1}}}}}",
         "{\"k\":1}", "{}"},
        {"{\"$ref\":\"#/$defs/"
         "n\",\"$defs\":{\"n\":{\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":"
         "\"#/$defs/n\"}},\"required\":[\"v\"]}}}",
         "{\"v\":1}~{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}", "{\"next\":{\"v\":1}}"},
        {"{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}", "[]~[[],[[]]]", "[1]"},
        {"{\"properties\":{\"a\":{\"$ref\":\"#/definitions/q~1~0%20\"}},\"definitions\":{\"q/~ "
         "\":{\"const\":1}}}",
         "{\"a\":1}", "{\"a\":2}"},
    };
    // '~' separates texts, not schemas.
    EXPECT_ALL(cases);
}

// A schema and a part of the sentence that refuses it.
static const char *const refusals[][2] = {
    {"{\"properties\":{\"a\":{\"items\":{\"multipleOf\":0}}}}",
     "#/properties/a/items/multipleOf: 'multipleOf' must be greater than 0"},
    {"{\"type\":\"number\",\"multipleOf\":12345.5}", "#/multipleOf: 'multipleOf' of more than 4"},
    {"{\"type\":\"array\",\"uniqueItems\":true}", "#: 'uniqueItems' is supported for constants"},
    {"{\"type\":\"object\",\"minProperties\":2,\"additionalProperties\":true}",
     "#: 'minProperties' above the number"},
    {"{\"type\":\"thing\"}", "#/type: 'type' \"thing\""},
    {"{\"type\":[]}", "#/type: 'type' is an empty list"},
    {"{\"pattern\":\"^\\\\bx$\"}", "#/pattern: 'pattern', at byte 2: this escape is not"},
    {"{\"pattern\":\"^(a)\\\\1$\"}", "this escape is not supported"},
    {"{\"pattern\":\"x(?=a)\"}", "at byte 3: groups that begin with (?"},
    {"{\"pattern\":\"^(?=a)a|b\"}", "beside lookahead"},
    {"{\"pattern\":\"^(a$\"}", "missing closing parenthesis"},
    {"{\"pattern\":\"^[a$\"}", "missing closing bracket"},
    {"{\"pattern\":\"^[b-a]$\"}", "not a range"},
    {"{\"pattern\":\"^a{3,2}$\"}", "not a repetition"},
    {"{\"pattern\":\"^*$\"}", "not supported here"},
    {"{\"pattern\":\"[01]*1[01]{16}$\"}", "of more than 20000 states"},
    {"{\"$ref\":\"http://x/y\"}", "#/$ref: '$ref' \"http://x/y\" is not supported: it is outside"},
    {"{\"$ref\":\"#/$defs/none\"}", "#/$ref: unresolved '$ref' \"#/$defs/none\""},
    {"{\"$ref\":\"#\"}", "#/$ref: '$ref' refers to itself in a cycle"},
    {"{\"allOf\":[{\"$ref\":\"#\"}]}", "#/allOf/0/$ref: '$ref' refers to itself"},
    {"{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"$ref\":\"#\"}}}", "in a cycle"},
    {"{\"properties\":{\"p\":{\"$ref\":\"#/$defs/a~1b\"}},\"$defs\":{\"a/"
     "b\":{\"pattern\":\"(\"}}}",
     "#/$defs/a~1b/pattern: 'pattern'"},
    {"{\"minLength\":-1}", "#/minLength: expected a whole number"},
    {"{\"minLength\":3,\"maxLength\":2}", "#: no string satisfies"},
    {"{\"items\":{},\"minItems\":3,\"maxItems\":2}", "#: 'minItems' exceeds"},
    {"{\"items\":false,\"minItems\":3}", "#: 'minItems' exceeds"},
    {"{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}", "#/maximum: no number satisfies"},
    {"{\"type\":\"integer\",\"minimum\":1e300}", "#/minimum: no number satisfies"},
    {"{\"type\":\"integer\",\"minimum\":1e99999}", "#/minimum: expected a number of at most"},
    {"{\"enum\":[\"a\"],\"minLength\":2}", "#/enum: no value of 'enum'"},
    {"{\"enum\":[]}", "#/enum: no value of 'enum'"},
    {"{\"required\":[\"a\"],\"additionalProperties\":false}", "other keywords exclude \"a\""},
    {"{\"properties\":[]}", "#: 'properties' is not an object"},
    {"{\"anyOf\":[]}", "#: 'anyOf' is not a list of schemas"},
    {"{\"allOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "no type is allowed by all"},
    {"{\"not\":{}}", "every value matches this schema"},
    {"{\"not\":{\"propertyNames\":{\"maxLength\":1}}}", "#: cannot express the values that 'not'"},
    {"false", "#: no value is allowed"},
    {"{\"properties\":{\"n\":{\"$ref\":\"#\"}},\"required\":[\"n\"]}", "without end"},
    {"3", "a schema must be an object"},
    {"{\"not\":{\"properties\":{\"a\":[1]}}}", "#/not/properties/a: a schema must be an object"},
    {"{\"type\":", "invalid JSON"},
    {"{\"a\":01}", "byte 5: invalid JSON"},
    {"{} x", "byte 3: unexpected text"},
    {"{\"type\":\"string\",\"type\":\"integer\"}", "#: the name \"type\" occurs twice"},
    {"{\"properties\":{\"p\":{\"a\":1,\"b\":2,\"a\":3}}}", "#/properties/p: the name \"a\" occurs"},
    {"{\"const\":\"a\\u0000b\"}", "\\u0000 is not supported"},
    {"{\"const\":\"\xFF\"}", "invalid UTF-8"},
};

TEST(refusals_name_the_place)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct glinfer_error err = {0};
        if (compile(refusals[i][0], &err) || !strstr(err.message, refusals[i][1]) ||
            strstr(err.message, "line ")) {
            fail_msg("%s: \"%s\", expected \"%s\"", refusals[i][0], err.message, refusals[i][1]);
        }
    }
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
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = gi_json_schema_rules(
        "root ::= \"f\" json-1 | \"g\" json-2 | \"h\" json-3", schemas, 3, true, NULL, &err);
    assert_non_null(grammar);
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
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = gi_json_schema_rules(gbnf, schemas, 2, false, NULL, NULL);
    assert_non_null(grammar);
    assert_true(allows(grammar, "f1", 2) && allows(grammar, "g\"y\"", 4));
    assert_false(allows(grammar, "g1", 2) || allows(grammar, "f\"y\"", 4));
    gi_grammar_destroy(grammar);
    static const char *const wrong[] = {"{}", "{\"pattern\": \"(\"}"};
    assert_fails(gi_json_schema_rules(gbnf, wrong, 2, false, NULL, &err), err, UNSUPPORTED, "");
    static const char *const endless[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}"};
    assert_fails(gi_json_schema_rules("root ::= json-1", endless, 1, false, NULL, &err), err,
                 UNSUPPORTED, "JSON schema: every allowed value");
    // The grammar itself never ends, whatever its schemas allow.
    assert_fails(gi_json_schema_rules("root ::= json-1 root", schemas, 1, false, NULL, &err), err,
                 INVALID_ARGUMENT, "the rule 'root' never ends");
}

TEST(more_texts_than_nodes_are_refused)
{
    const struct gi_schema_frame frame = {"<", ">", UINT32_MAX - 1, NULL};
    struct glinfer_error err = {0};
    assert_fails(gi_json_schema_create("{}", 2, &frame, &err), err, INVALID_ARGUMENT, "too large");
}

RUN_TESTS(NULL, NULL)
