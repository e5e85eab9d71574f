// Grammars: what the language means, by texts that they allow or refuse, and what is refused of
// grammars themselves.
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/grammar/create_grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_grammar *read_grammar(const char *text)
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = create_grammar(text, strlen(text), NULL, &err);
    if (!grammar) {
        fail_msg("%s: %s", text, err.message);
    }
    return grammar;
}

// 1: the grammar allows the whole text; 0: only as a beginning; -1: not at all.
static int follow(const struct gi_grammar *grammar, const char *text, size_t piece)
{
    const struct gi_grammar_matcher_params params = {.grammar = grammar};
    struct glinfer_error err = {0};
    struct gi_grammar_matcher *matcher = gi_grammar_matcher_create(&params, &err);
    struct gi_grammar_state state;
    assert_non_null(matcher);
    gi_grammar_state_init(&state, matcher);
    bool is_ok = true;
    for (size_t i = 0, size = strlen(text); is_ok && i < size; i += piece) {
        is_ok =
            gi_grammar_accept_bytes(&state, text + i, i + piece < size ? piece : size - i, &err);
    }
    if (!is_ok) {
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    }
    const int result = !is_ok ? -1 : gi_grammar_may_end(&state) ? 1 : 0;
    gi_grammar_state_finish(&state);
    gi_grammar_matcher_destroy(matcher);
    return result;
}

static void expect(const char *grammar_text, const char *texts, int result)
{
    struct gi_grammar *grammar = read_grammar(grammar_text);
    for (const char *end; texts; texts = *end ? end + 1 : NULL) {
        char text[256];
        end = strchrnul(texts, '~');
        snprintf(text, sizeof(text), "%.*s", (int)(end - texts), texts);
        for (size_t piece = 1; piece < 40; piece += 38) { // bytes alone, and together
            const int found = follow(grammar, text, piece);
            if (found != result && !(found == 0 && result < 0)) {
                fail_msg("%s: '%s': %d, expected %d", grammar_text, text, found, result);
            }
        }
    }
    gi_grammar_destroy(grammar);
}

static void check_language(const char *const fields[])
{
    expect(fields[0], fields[1], 1);
    expect(fields[0], fields[2], -1);
}

TEST(grammars_mean_their_languages)
{
    each_case("grammar.cases", "languages", check_language);
}

static const char json_text[] =
    "root   ::= object\n"
    "value  ::= object | array | string | number | \"true\" | \"null\"\n"
    "object ::= \"{\" ws ( pair (\",\" ws pair)* )? \"}\" ws\n"
    "pair   ::= string \":\" ws value\n"
    "array  ::= \"[\" ws ( value (\",\" ws value)* )? \"]\" ws\n"
    "string ::= \"\\\"\" ( [^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"\\\\nt] )* "
    "\"\\\"\" ws\n"
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]*) (\".\" [0-9]+)? ws\n"
    "ws     ::= [ \\n]{0,4}\n";

static void check_refusal(const char *const fields[])
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = create_grammar(fields[0], strlen(fields[0]), NULL, &err);
    if (grammar || !strstr(err.message, fields[1])) {
        fail_msg("%s: \"%s\", expected \"%s\"", fields[0], err.message, fields[1]);
    }
}

TEST(what_is_wrong_is_named_with_its_place)
{
    each_case("grammar.cases", "refusals", check_refusal);
}

TEST(nesting_is_bounded)
{
    static char text[4096] = "root ::= ";
    struct glinfer_error err = {0};
    memset(text + 9, '(', 300);
    assert_null(create_grammar(text, 309, NULL, &err));
    assert_says(err.message, "column 110: groups are nested deeper than 100");
    sprintf(text + 9, "\"a\"");
    memset(text + 12, '*', 300);
    assert_null(create_grammar(text, 312, NULL, &err));
    assert_says(err.message, "repetitions are nested deeper than 100");
}

TEST(large_grammars_are_refused)
{
    static char text[1 << 16] = "root ::= ";
    struct glinfer_error err = {0};
    size_t size = 9;
    while (size < 4000) {
        size += (size_t)sprintf(text + size, "(\"ab\"){0,9999} ");
    }
    assert_null(create_grammar(text, size, NULL, &err));
    assert_says(err.message, "too large");
}

TEST(a_grammar_that_explodes_is_an_error)
{
    // Each rule calls the next in two ways, so that stacks double with each.
    char text[2048];
    size_t size = (size_t)sprintf(text, "root ::= r0 \"x\" | r0 \"y\"\n");
    for (int i = 0; i < 24; i++) {
        size += (size_t)sprintf(text + size, "r%d ::= r%d \"x\" | r%d \"y\"\n", i, i + 1, i + 1);
    }
    sprintf(text + size, "r24 ::= \"z\"\n");
    struct gi_grammar *grammar = read_grammar(text);
    const struct gi_grammar_matcher_params params = {.grammar = grammar, .memory = 4 << 20};
    must_fail(gi_grammar_matcher_create(&params, &err), UNSUPPORTED, "4 MiB");
    gi_grammar_destroy(grammar);
}

TEST(states_survive_when_memory_is_short)
{
    struct gi_grammar *grammar = read_grammar("root ::= \"(\" root \")\" | [a-z]");
    const struct gi_grammar_matcher_params params = {.grammar = grammar, .memory = 1 << 17};
    struct gi_grammar_matcher *matcher = gi_grammar_matcher_create(&params, NULL);
    struct gi_grammar_state one, two;
    gi_grammar_state_init(&one, matcher);
    assert_true(gi_grammar_accept_bytes(&one, "((", 2, NULL));
    gi_grammar_state_copy(&two, &one);
    for (int i = 0; i < 800; i++) {
        assert_true(gi_grammar_accept_bytes(&one, "(", 1, NULL));
    }
    assert_true(gi_grammar_accept_bytes(&one, "q", 1, NULL));
    for (int i = 0; i < 802; i++) {
        assert_false(gi_grammar_may_end(&one));
        assert_true(gi_grammar_accept_bytes(&one, ")", 1, NULL));
    }
    assert_true(gi_grammar_may_end(&one));
    assert_false(gi_grammar_accept_bytes(&one, ")", 1, NULL));
    assert_true(gi_grammar_accept_bytes(&two, "a))", 3, NULL));
    assert_true(gi_grammar_may_end(&two));
    // Deeper than the memory allows: an error that leaves the state where it was.
    struct glinfer_error err = {0};
    struct gi_grammar_state deep;
    gi_grammar_state_init(&deep, matcher);
    int n = 0;
    while (n < 100000 && gi_grammar_accept_bytes(&deep, "(", 1, &err)) {
        n++;
    }
    assert_in_range(n, 1000, 99999);
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
    gi_grammar_state_finish(&one);
    gi_grammar_state_finish(&two);
    gi_grammar_state_finish(&deep);
    gi_grammar_matcher_destroy(matcher);
    gi_grammar_destroy(grammar);
}

TEST(every_allocation_may_fail)
{
    static const char text[] = "{\"a\": [1, {\"b\":null}]}";
    for (long n = 0; n < 400; n++) {
        struct glinfer_error err = {0};
        struct gi_grammar_state place = {0};
        fail_allocations_after(n);
        struct gi_grammar *grammar = create_grammar(json_text, strlen(json_text), NULL, &err);
        const struct gi_grammar_matcher_params params = {.grammar = grammar};
        struct gi_grammar_matcher *matcher =
            grammar ? gi_grammar_matcher_create(&params, &err) : NULL;
        bool is_ok = matcher;
        if (is_ok) {
            gi_grammar_state_init(&place, matcher);
            is_ok = gi_grammar_accept_bytes(&place, text, strlen(text), &err);
        }
        fail_allocations_after(-1);
        gi_grammar_state_finish(&place);
        gi_grammar_matcher_destroy(matcher);
        gi_grammar_destroy(grammar);
        if (is_ok) {
            assert_in_range(n, 10, 399);
            return;
        }
        assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
    }
    fail_msg("no number of allocations is enough");
}

RUN_TESTS(NULL, NULL)
