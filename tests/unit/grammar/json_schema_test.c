// JSON schemas as grammars: texts that each keyword allows and refuses, and what is refused of
// schemas, by its name. tests/unit/grammar/schema_samples.py has random schemas.
#include "grammar/grammar_matcher.h"
#include "grammar/schema/json_schema.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_grammar *grammar_of(const char *schema)
{
    struct gi_schema_grammar text = {0};
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = NULL;
    if (gi_json_schema_grammar(schema, strlen(schema), &text, &err)) {
        grammar = gi_grammar_create(text.data, text.size, NULL, &err);
    }
    free(text.data);
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

static void types_allow_their_values(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{}",                                                                                    "1~\"a\"~[1, {\"a\": null}]~{\n  \"b\": [ ]\n}~-0.5e+10~\"\\ud83d\\ude00\"",
         "~01~'a'~[1,]~{\"a\" 1}~\"\\ud83d\"~\"\\x\"~1 ~{   }~[1 2]"                                                                                                                                            },
        {"true",                                                                                  "1~[]",                                                                      "x"                              },
        {"{\"type\":\"object\"}",                                                                 "{}~{\"a\":1,\"b\":[{}]}",                                                   "[]~1~{\"a\"}~{1:2}"             },
        {"{\"type\":\"string\"}",                                                                 "\"\"~\"a\\n\\u00e9\xC3\xA9\"",                                              "a~1~\"\n\"~\"\\\""              },
        {"{\"type\":\"integer\"}",                                                                "0~-12~9999999999999999",                                                    "01~1.0~--1~+1~99999999999999999"},
        {"{\"type\":\"number\"}",                                                                 "0~-1.50~1e5~2E-10",                                                         "1.~.5~1e~1e100"                 },
        {"{\"type\":[\"boolean\",\"null\"]}",                                                     "true~false~null",                                                           "0~True"                         },
        {"{\"type\":\"array\"}",                                                                  "[]~[1,[2]]~[\n 1 ,2 ]",                                                     "[~[,]"                          },
        {"{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"$schema\":\"s\",\"$id\":\"i\"}",
         "1",                                                                                                                                                                  "x"                              },
    };
    EXPECT_ALL(cases);
}

static void constants_are_literal(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{\"const\":\"a\\\"b\\n\"}",                "\"a\\\"b\\n\"",               "\"a\"~a"},
        {"{\"const\":{\"a\":[1,null]}}",             "{\"a\":[1,null]}",            "{}"     },
        {"{\"enum\":[\"red\",5,null,\"\xC3\xA9\"]}", "\"red\"~5~null~\"\xC3\xA9\"",
         "red~6~\"green\""                                                                   },
        {"{\"type\":\"string\",\"enum\":[\"a\",1]}", "\"a\"",                       "1"      },
        {"{\"type\":\"integer\",\"enum\":[1,2.5]}",  "1",                           "2.5"    },
    };
    EXPECT_ALL(cases);
}

static void strings_have_sizes_patterns_and_formats(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{\"type\":\"string\",\"minLength\":2}",                    "\"ab\"~\"\\n\xC3\xA9z\"",                      "\"a\"~\"\""              },
        {"{\"maxLength\":2}",                                        "\"\"~\"\\u00e9\xE6\x97\xA5\"",                 "\"abc\"~1"               },
        {"{\"minLength\":1,\"maxLength\":1}",                        "\"\\ud83d\\ude00\"",                           "\"\"~\"ab\""             },
        {"{\"pattern\":\"^[a-f]{2,3}\\\\d?$\"}",                     "\"ab\"~\"abc1\"",                              "\"a\"~\"abcd\"~\"ab12\"" },
        {"{\"pattern\":\"^(\\\\(\\\\d{3}\\\\))?\\\\d+-(?:x|y)*$\"}", "\"(123)4-\"~\"4-xyx\"",
         "\"()4-\"~\"-x\""                                                                                                                     },
        {"{\"pattern\":\"^.[^a-z\\\\s]$\"}",                         "\"aA\"~\"\\\"\\\\\"~\"\xC3\xA9_\"",
         "\"ab\"~\"A\"~\"A \"~\"\\n1\""                                                                                                        },
        {"{\"pattern\":\"^\\\"\\\\\\\\\\\\n\\\\x41\\\\u00e9$\"}",    "\"\\\"\\\\\\nA\xC3\xA9\"",
         "\"A\""                                                                                                                               },
        {"{\"pattern\":\"^\\\\w\\\\W+?$\"}",                         "\"_-+\"",                                      "\"-_\"~\"__\""           },
        {"{\"format\":\"date\"}",                                    "\"2024-02-29\"~\"1999-12-31\"~\"2000-02-29\"",
         "\"2023-02-29\"~\"1900-02-29\"~\"2024-13-01\"~\"2024-04-31\"~\"0000-01-01\""                                                          },
        {"{\"format\":\"time\"}",                                    "\"23:59:59Z\"~\"00:00:00.123+05:30\"",
         "\"24:00:00Z\"~\"12:60:00Z\"~\"12:00:00\""                                                                                            },
        {"{\"format\":\"date-time\"}",                               "\"2024-01-01T00:00:00Z\"",                     "\"2024-01-01 00:00:00Z\""},
        {"{\"format\":\"uuid\"}",                                    "\"01234567-89ab-cdef-0123-456789ABCDEF\"",     "\"0123\""                },
    };
    EXPECT_ALL(cases);
}

static void integers_have_bounds(void **state)
{
    (void)state;
    static const int bounds[][2] = {
        {0,    9   },
        {0,    0   },
        {-5,   5   },
        {13,   13  },
        {7,    123 },
        {99,   101 },
        {-120, -7  },
        {-99,  1000},
        {250,  399 },
        {-1,   0   }
    };
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
        {"{\"type\":\"integer\",\"minimum\":5}",                                  "5~10~9999999999999999", "4~-5~05"},
        {"{\"type\":\"integer\",\"maximum\":-3}",                                 "-3~-123456789",         "-2~3~0" },
        {"{\"type\":\"integer\",\"exclusiveMinimum\":-1,\"exclusiveMaximum\":2}", "0~1",                   "-1~2"   },
    };
    EXPECT_ALL(cases);
}

static void arrays_have_items(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{\"items\":{\"type\":\"integer\"}}",                                                      "[]~[1]~[1, 2,3]",    "[\"a\"]~[1,]~1" },
        {"{\"type\":\"array\",\"minItems\":2}",                                                     "[1,\"a\"]~[1,2,3]",  "[]~[1]"         },
        {"{\"items\":{\"type\":\"null\"},\"minItems\":1,\"maxItems\":2}",                           "[null]~[null,null]",
         "[]~[null,null,null]"                                                                                                             },
        {"{\"items\":{},\"maxItems\":0}",                                                           "[]",                 "[1]"            },
        {"{\"items\":false}",                                                                       "[]",                 "[1]"            },
        {"{\"prefixItems\":[{\"type\":\"integer\"},{\"const\":\"a\"}]}",                            "[1, \"a\"]",
         "[]~[1]~[1,\"a\",2]~[\"a\",1]"                                                                                                    },
        {"{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":{\"type\":\"null\"},\"minItems\":2}",
         "[1,null]~[1,null,null]",                                                                                        "[1]~[null,null]"},
        {"{\"prefixItems\":[true,true],\"maxItems\":1}",                                            "[1]",                "[]~[1,2]"       },
        {"{\"prefixItems\":[{\"type\":\"integer\"}],\"minItems\":2,\"maxItems\":2}",                "[1,\"x\"]",
         "[1]~[1,2,3]"                                                                                                                     },
        {"{\"items\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}",                                "[1,null]",           "[1]~[null,1]"   },
    };
    EXPECT_ALL(cases);
}

static void objects_have_properties_in_order(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{\"properties\":{\"b\":{\"type\":\"integer\"},\"a\":{\"type\":\"null\"}}}",
         "{}~{\"b\":1}~{\"a\":null}~{\"b\": 1, \"a\": null}",                                                                                                                       "{\"a\":null,\"b\":1}~{\"c\":1}~{\"b\":1,}~{,\"a\":null}"},
        {"{\"properties\":{\"a\":{},\"b\":{\"const\":1},\"c\":{}},\"required\":[\"b\"]}",
         "{\"b\":1}~{\"a\":[],\"b\":1}~{\"b\":1,\"c\":0}",                                                                                                                          "{}~{\"a\":1}~{\"a\":1,\"c\":1}"                         },
        {"{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",        "{}~{ }",
         "{\"a\":1}"                                                                                                                                                                                                                         },
        {"{\"additionalProperties\":{\"type\":\"integer\"}}",                             "{}~{\"x\":1,\"\":2}",
         "{\"x\":\"a\"}"                                                                                                                                                                                                                     },
        {"{\"properties\":{\"ab\":{\"const\":1},\"a\\\"\":{\"const\":2}},\"additionalProperties\":{"
         "\"const\":0}}",                                                        "{\"ab\":1,\"a\":0,\"abc\":0,\"\":0,\"a\\\\\":0}~{\"a\\\"\":2}~{\"a\\\"x\":0,\"\\n\":0}",
         "{\"ab\":0}~{\"a\\\"\":0}~{\"\\u0061b\":0}~{\"x\":1}"                                                                                                                                                                               },
        {"{\"required\":[\"z\"],\"additionalProperties\":{\"const\":3}}",
         "{\"z\":3}~{\"z\":3,\"y\":3}",                                                                                                                                             "{}~{\"z\":1}"                                           },
        {"{\"required\":[\"z\"]}",                                                        "{\"z\":[1]}",                                                                            "{}~{\"a\":1}"                                           },
        {"{\"properties\":{\"\\n\xC3\xA9\":true},\"required\":[\"\\n\xC3\xA9\"]}",
         "{\"\\n\xC3\xA9\":1}",                                                                                                                                                     "{}"                                                     },
    };
    EXPECT_ALL(cases);
}

static void schemas_combine(void **state)
{
    (void)state;
    static const struct keyword_case cases[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"const\":\"x\"}]}",                                          "1~\"x\"",                                                   "\"y\"~null"                           },
        {"{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"boolean\"}],\"title\":\"t\"}",                        "null~true",
         "1"                                                                                                                                                                                                    },
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1}},\"anyOf\":[{\"required\":["
         "\"a\"]},{\"properties\":{\"b\":"
         "{\"const\":2}},\"required\":[\"b\"]}]}",                                                 "{\"a\":1}~{\"b\":2}~{\"a\":1,\"b\":2}",                     "{}"                                   },
        {"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},{"
         "\"properties\":{\"b\":{},\"a\":"
         "{\"minimum\":3}},\"required\":[\"b\"]}]}",                                               "{\"a\":3,\"b\":1}",                                         "{\"a\":2,\"b\":1}~{\"a\":3}~{\"b\":1}"},
        {"{\"allOf\":[{\"$ref\":\"#/$defs/"
         "x\"},{\"required\":[\"k\"]}],\"$defs\":{\"x\":{\"properties\":{\"k\":{\"const\":1}}}}}", "{\"k\":1}",                                                 "{}"                                   },
        {"{\"$ref\":\"#/$defs/"
         "n\",\"$defs\":{\"n\":{\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":"
         "\"#/$defs/n\"}},\"required\":[\"v\"]}}}",                                                "{\"v\":1}~{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}", "{\"next\":{\"v\":1}}"                 },
        {"{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}",                                                 "[]~[[],[[]]]",                                              "[1]"                                  },
        {"{\"properties\":{\"a\":{\"$ref\":\"#/definitions/q~1~0%20\"}},\"definitions\":{\"q/~ "
         "\":{\"const\":1}}}",                                                                     "{\"a\":1}",                                                 "{\"a\":2}"                            },
    };
    // '~' separates texts, not schemas.
    EXPECT_ALL(cases);
}

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"not\":{}}",                                            "#: 'not' is not supported"                                  },
        {"{\"properties\":{\"a\":{\"items\":{\"multipleOf\":2}}}}",
         "#/properties/a/items: 'multipleOf' is"                                                                                 },
        {"{\"patternProperties\":{}}",                              "'patternProperties'"                                        },
        {"{\"type\":\"array\",\"uniqueItems\":true}",               "'uniqueItems'"                                              },
        {"{\"type\":\"array\",\"contains\":{}}",                    "'contains'"                                                 },
        {"{\"type\":\"object\",\"minProperties\":1}",               "'minProperties'"                                            },
        {"{\"type\":\"number\",\"minimum\":1}",                     "'minimum' is supported with the type \"integer\""           },
        {"{\"maximum\":1}",                                         "'maximum' is supported with"                                },
        {"{\"type\":\"thing\"}",                                    "'type' \"thing\""                                           },
        {"{\"type\":[]}",                                           "'type' names no type"                                       },
        {"{\"enum\":[1,{\"a\":[1e19]}]}",                           "a constant beyond 2^53 is not supported"                    },
        {"{\"format\":\"email\"}",                                  "'format' \"email\" is not supported"                        },
        {"{\"format\":\"date\",\"minLength\":3}",                   "'format' beside 'minLength'"                                },
        {"{\"pattern\":\"^a$\",\"maxLength\":3}",                   "'pattern' beside 'minLength'"                               },
        {"{\"pattern\":\"a\"}",                                     "without ^"                                                  },
        {"{\"pattern\":\"^a\\\\$\"}",                               "without ^"                                                  },
        {"{\"pattern\":\"^a|b$\"}",                                 "at byte 2: '|' outside"                                     },
        {"{\"pattern\":\"^(?=a)$\"}",                               "(?"                                                         },
        {"{\"pattern\":\"^\\\\bx$\"}",                              "this escape is not supported"                               },
        {"{\"pattern\":\"^(a)\\\\1$\"}",                            "this escape is not supported"                               },
        {"{\"pattern\":\"^(a$\"}",                                  "no closing parenthesis"                                     },
        {"{\"pattern\":\"^[a$\"}",                                  "no closing bracket"                                         },
        {"{\"pattern\":\"^a{3,2}$\"}",                              "no repetition"                                              },
        {"{\"pattern\":\"^*$\"}",                                   "not supported here"                                         },
        {"{\"$ref\":\"http://x/y\"}",                               "'$ref' \"http://x/y\" is not supported"                     },
        {"{\"$ref\":\"#/$defs/none\"}",                             "leads nowhere"                                              },
        {"{\"minLength\":-1}",                                      "'minLength' is not a whole number"                          },
        {"{\"minLength\":3,\"maxLength\":2}",                       "'minLength' is above"                                       },
        {"{\"items\":{},\"minItems\":3,\"maxItems\":2}",            "'minItems' is above"                                        },
        {"{\"items\":false,\"minItems\":3}",                        "'minItems' asks for more"                                   },
        {"{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}",      "no integer is from 5 to 4"                                  },
        {"{\"type\":\"integer\",\"minimum\":1e30}",                 "'minimum' is not a number"                                  },
        {"{\"enum\":[\"a\"],\"minLength\":1}",                      "'minLength' beside 'enum'"                                  },
        {"{\"enum\":[]}",                                           "'enum' has no value"                                        },
        {"{\"required\":[\"a\"],\"additionalProperties\":false}",   "'required' asks for \"a\""                                  },
        {"{\"properties\":[]}",                                     "'properties' is not an object"                              },
        {"{\"anyOf\":[]}",                                          "'anyOf' is not an array of schemas"                         },
        {"{\"allOf\":[{\"minLength\":1},{\"minLength\":2}]}",       "'minLength' differs"                                        },
        {"{\"allOf\":[{\"properties\":{\"a\":{}},\"additionalProperties\":false},{\"properties\":{"
         "\"b\":{}}}]}",                                   "'additionalProperties' of one schema and the property \"b\""},
        {"false",                                                   "no value is allowed"                                        },
        {"3",                                                       "a schema has to be an object"                               },
        {"{\"type\":",                                              "this is not JSON"                                           },
        {"{} x",                                                    "byte 3: something follows"                                  },
        {"{\"const\":\"a\\u0000b\"}",                               "\\u0000 is not supported"                                   },
        {"{\"const\":\"\xFF\"}",                                    "not UTF-8"                                                  },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gi_schema_grammar text = {0};
        struct glinfer_error err = {0};
        if (gi_json_schema_grammar(cases[i][0], strlen(cases[i][0]), &text, &err) ||
            !strstr(err.message, cases[i][1])) {
            fail_msg("%s: \"%s\", expected \"%s\"", cases[i][0], err.message, cases[i][1]);
        }
    }
}

static void nesting_ends_in_an_error(void **state)
{
    (void)state;
    static char schema[8192];
    struct gi_schema_grammar text = {0};
    struct glinfer_error err = {0};
    size_t size = 0;
    for (int i = 0; i < 200; i++) {
        size += (size_t)sprintf(schema + size, "{\"items\":");
    }
    size += (size_t)sprintf(schema + size, "1");
    memset(schema + size, '}', 200);
    assert_false(gi_json_schema_grammar(schema, size + 200, &text, &err));
    assert_non_null(strstr(err.message, "nested deeper than 64"));
    // Two schemas that have to hold together and lead to each other without an end.
    static const char pair[] =
        "{\"$defs\":{\"a\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/a\"},\"y\":{\"$ref\":\"#/"
        "$defs/a\"}}},"
        "\"b\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/b\"},\"y\":{\"$ref\":\"#/$defs/b\"}}}},"
        "\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/b\"}]}";
    assert_false(gi_json_schema_grammar(pair, strlen(pair), &text, &err));
    static const char loop[] = "{\"allOf\":[{\"$ref\":\"#\"}]}";
    assert_false(gi_json_schema_grammar(loop, strlen(loop), &text, &err));
    // A schema that is itself: a rule that begins with itself.
    static const char self[] = "{\"$ref\":\"#\"}";
    assert_true(gi_json_schema_grammar(self, strlen(self), &text, &err));
    assert_null(gi_grammar_create(text.data, text.size, NULL, &err));
    free(text.data);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char schema[] = "{\"properties\":{\"a\":{\"enum\":[1,\"x\"]},\"b\":{\"allOf\":[{"
                                 "\"properties\":{\"c\":{\"type\":\"string\"}}},"
                                 "{\"properties\":{\"c\":{\"minLength\":2}}}]},\"d\":{\"anyOf\":[{"
                                 "\"$ref\":\"#\"},{\"prefixItems\":[{}]}]}},"
                                 "\"additionalProperties\":{\"pattern\":\"^a$\"}}";
    for (long n = 0; n < 2000; n++) {
        struct gi_schema_grammar text = {0};
        struct glinfer_error err = {0};
        fail_allocations_after(n);
        const bool is_ok = gi_json_schema_grammar(schema, strlen(schema), &text, &err);
        fail_allocations_after(-1);
        free(text.data);
        if (is_ok) {
            assert_in_range(n, 10, 1999);
            return;
        }
        assert_true(err.message[0] != 0);
    }
    fail_msg("no number of allocations is enough");
}

// Calls of tools are JSON in a frame.
static void json_may_stand_in_a_frame(void **state)
{
    (void)state;
    const char *schema = "{\"const\": 1}";
    const struct gi_schema_frame frame = {"<call>\n\"", "\xC3\xA9</call>", 2, NULL};
    struct gi_schema_grammar text = {0};
    assert_true(gi_json_schema_grammar_framed(schema, strlen(schema), &frame, &text, NULL));
    struct gi_grammar *grammar = gi_grammar_create(text.data, text.size, NULL, NULL);
    assert_non_null(grammar);
    static const struct {
        const char *text;
        bool is_allowed;
    } cases[] = {
        {"<call>\n\"1\xC3\xA9</call>",                                                     true },
        {"<call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call>",                           true },
        {"<call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call><call>\n\"1\xC3\xA9</call>", false},
        {"1",                                                                              false},
        {"",                                                                               false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(allows(grammar, cases[i].text, strlen(cases[i].text)),
                         cases[i].is_allowed);
    }
    gi_grammar_destroy(grammar);
    free(text.data);
}

// Grammars name rules that are JSON by schemas, each with definitions of its own.
static void schemas_are_rules_of_a_grammar(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"const\": 1}}}",
        "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"enum\": [\"x\", \"y\"]}}}",
    };
    static const char gbnf[] = "root ::= \"f\" json-1 | \"g\" json-2";
    struct gi_schema_grammar text = {0};
    struct glinfer_error err = {0};
    assert_true(gi_json_schema_rules(gbnf, schemas, 2, &text, NULL));
    struct gi_grammar *grammar = gi_grammar_create(text.data, text.size, NULL, NULL);
    assert_non_null(grammar);
    assert_true(allows(grammar, "f1", 2) && allows(grammar, "g\"y\"", 4));
    assert_false(allows(grammar, "g1", 2) || allows(grammar, "f\"y\"", 4));
    gi_grammar_destroy(grammar);
    free(text.data);
    static const char *const wrong[] = {"{}", "{\"not\": {}}"};
    assert_false(gi_json_schema_rules(gbnf, wrong, 2, &text, &err));
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_may_stand_in_a_frame),
        cmocka_unit_test(schemas_are_rules_of_a_grammar),
        cmocka_unit_test(types_allow_their_values),
        cmocka_unit_test(constants_are_literal),
        cmocka_unit_test(strings_have_sizes_patterns_and_formats),
        cmocka_unit_test(integers_have_bounds),
        cmocka_unit_test(arrays_have_items),
        cmocka_unit_test(objects_have_properties_in_order),
        cmocka_unit_test(schemas_combine),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(nesting_ends_in_an_error),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
