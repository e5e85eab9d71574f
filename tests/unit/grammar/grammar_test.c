// Grammars: what the language means, by texts that they allow or refuse, and what is refused of
// grammars themselves.
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gi_grammar *read_grammar(const char *text)
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = gi_grammar_create(text, strlen(text), NULL, &err);
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

struct language {
    const char *grammar;
    const char *allowed; // texts with '~' between
    const char *refused; // may be the beginnings of allowed ones
};

static void expect_all(const struct language *languages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect(languages[i].grammar, languages[i].allowed, 1);
        expect(languages[i].grammar, languages[i].refused, -1);
    }
}
#define EXPECT_ALL(languages) expect_all(languages, sizeof(languages) / sizeof((languages)[0]))

TEST(literals_and_classes_match_characters)
{
    const struct language languages[] = {
        {"root ::= \"ab\"", "ab", "~a~abc~b"},
        {"root ::= \"\"", "", "a"},
        {"root ::=", "", "a"},
        {"root ::= \"\\n\\t\\r\\\\\\\"\\x41\\u00e9\\U0001F600\"",
         "\n\t\r\\\"A\xC3\xA9\xF0\x9F\x98\x80", "\n\t\r\\\"A\xC3\xA9"},
        {"root ::= [a-c\\]\\-x]", "a~c~]~-~x", "d~aa~\\"},
        {"root ::= [-a] [a-]", "-a~a-", "--b~b-"},
        {"root ::= [^a-z\\n]", "A~\xC3\xA9~\xF0\x9F\x98\x80~ ", "a~\n~AA~\xC3"},
        {"root ::= .", "a~\n~\xE6\x97\xA5",
         "~\xFF~\xC0\x80~\xED\xA0\x80~\xE0\x80\x80~\xF4\x90\x80\x80~ab"},
        {"root ::= [\xD0\x90-\xD1\x8F\xE3\x81\x81-\xE3\x82\x93]+",
         "\xD0\xBF\xD1\x80~\xE3\x81\x82\xD0\xBF", "\xD1\x90~\xE3\x80\x81~p"},
        {"root ::= [\\u0700-\\u0810\\u0900-\\u0901]", "\xDC\x80~\xE0\xA0\x90~\xE0\xA4\x81",
         "\xE0\x9C\x80~\xE0\xA0\x91~\xE0\xA4\x82"},
        {"root ::= [^\\u0080-\\U0010FFFF]", "\x7F~a", "\xC2\x80"},
        {"root ::= [\\uD7FF-\\uE000]", "\xED\x9F\xBF~\xEE\x80\x80", "\xED\xA0\x80~\xEE\x80\x81"},
    };
    EXPECT_ALL(languages);
}

TEST(repetitions_count)
{
    const struct language languages[] = {
        {"root ::= \"a\"*", "~a~aaaa", "b~ab"},
        {"root ::= \"a\"+", "a~aaaa", "~ab"},
        {"root ::= \"a\"?", "~a", "aa"},
        {"root ::= [a]{2}", "aa", "a~aaa"},
        {"root ::= [a]{2,}", "aa~aaaaa", "a"},
        {"root ::= [a]{ 1 , 3 }", "a~aaa", "~aaaa"},
        {"root ::= [a]{0,2} \"b\"", "b~ab~aab", "aaab~a"},
        {"root ::= [a]{0}", "", "a"},
        {"root ::= [a]{0,}", "~aa", "b"},
        {"root ::= (\"ab\" | \"c\"){2,3}", "abc~cc~ababab", "ab~cccc~abca"},
        {"root ::= ((\"a\"{2}){2}){2} \"b\"?", "aaaaaaaa~aaaaaaaab", "aaaa~aaaaaaaaa"},
        {"root ::= (\"a\"?)* (\"b\"*)+", "~aab~b", "ba"},
        {"root ::= (\"a\"*){0,40} \"x\"", "x~aaax", "a~xa"},
        {"root ::= \"ab\"*", "~abab", "aba~abb"},
    };
    EXPECT_ALL(languages);
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

TEST(rules_nest)
{
    const struct language languages[] = {
        {"root  ::= (expr \"=\" term \"\\n\")+\n"
         "expr  ::= term ([-+*/] term)*\n"
         "term  ::= [0-9]+ | \"(\" expr \")\"",
         "1=2\n~(1+2)*((3))=44\n1=1\n", "1+=2\n~(1=2\n~1=2"},
        {"# comment\nroot ::= a # another\n\n\na ::= ( # within\n \"x\" |\n\n \"y\" )\n \n", "x~y",
         "z~xy"},
        {"root ::= \"(\" root \")\" | \"\"", "~()~((()))", "(~())~)"},
        {"root ::= \"a\" root | \"b\"", "b~aaab", "a~ba"},
        {"root ::= x y\nx ::= \"a\"?\ny ::= \"a\" \"b\" |\n \"c\"", "ab~aab~c~ac", "aaab~b"},
        {json_text, "{}~{\"a\": [1, -2.5, {\"b\":null}], \"\xC3\xA9\\n\":\"\"}  ",
         "[]~{\"a\":01}~{\"a\":\"\n\"}~{\"a\":tru}~{}      ~{,}"},
    };
    EXPECT_ALL(languages);
}

TEST(what_is_wrong_is_named_with_its_place)
{
    static const char *const cases[][2] = {
        {"", "missing rule 'root'"},
        {"a ::= \"x\"", "missing rule 'root'"},
        {"root ::= a", "line 1, column 10: the rule 'a' is not"},
        {"root ::= \"a\n", "line 1, column 10: missing closing quote"},
        {"root ::= \"\xC3\xA9\" [a", "column 14: missing closing bracket"},
        {"root ::= (\"a\"\n", "line 1, column 10: missing closing parenthesis"},
        {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: duplicate rule"},
        {"root := \"a\"", "column 6: expected \"::=\""},
        {"root ::= \"a\"\n| \"b\"", "line 2, column 1: expected the name of a rule"},
        {"root ::= \"a\" )", "column 14: unexpected text after a rule"},
        {"root ::= *", "unexpected text after a rule"},
        {"root ::= \"\\q\"", "column 11: unknown escape"},
        {"root ::= \"\\x4\"", "\\x takes 2 hexadecimal digits"},
        {"root ::= \"\\uD800\"", "not a Unicode character"},
        {"root ::= \"\\U00110000\"", "not a Unicode character"},
        {"root ::= \"\xFF\"", "invalid UTF-8"},
        {"root ::= [z-a]", "invalid range: its end is before its beginning"},
        {"root ::= []", "empty character class"},
        {"root ::= [^\\x00-\\U0010FFFF]", "empty character class"},
        {"root ::= \"a\"{10001}", "a repetition is {m}, {m,} or {m,n} of"},
        {"root ::= \"a\"{99999999999999999999}", "a repetition is {m}, {m,} or {m,n} of"},
        {"root ::= \"a\"{,3}", "a repetition is {m}, {m,} or {m,n} of"},
        {"root ::= \"a\"{3,2}", "the maximum is below"},
        {"root ::= \"a\"{3", "a repetition is"},
        {"root ::= \"a\" root", "'root' never ends"},
        {"root ::= x | \"b\" root\nx ::= [a-z] x", "'root' never ends"},
        {"root ::= root \"a\" | \"b\"", "'root' is left-recursive"},
        {"root ::= a\na ::= b \"x\"\nb ::= \"\"* a", "line 2, column 1: the rule 'a' is left"},
        {"root ::= (\"x\"? root)* \"y\"", "left-recursive"},
        {"root ::= <think>", "column 10: tokens such as"},
        {"root ::= !a", "expected '<' and a token"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_grammar *grammar =
            gi_grammar_create(cases[i][0], strlen(cases[i][0]), NULL, &err);
        if (grammar || !strstr(err.message, cases[i][1])) {
            fail_msg("%s: \"%s\", expected \"%s\"", cases[i][0], err.message, cases[i][1]);
        }
    }
}

TEST(nesting_is_bounded)
{
    static char text[4096] = "root ::= ";
    struct glinfer_error err = {0};
    memset(text + 9, '(', 300);
    assert_null(gi_grammar_create(text, 309, NULL, &err));
    assert_says(err.message, "column 110: groups are nested deeper than 100");
    sprintf(text + 9, "\"a\"");
    memset(text + 12, '*', 300);
    assert_null(gi_grammar_create(text, 312, NULL, &err));
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
    assert_null(gi_grammar_create(text, size, NULL, &err));
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
    struct glinfer_error err = {0};
    assert_fails(gi_grammar_matcher_create(&params, &err), err, UNSUPPORTED, "4 MiB");
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
        struct gi_grammar *grammar = gi_grammar_create(json_text, strlen(json_text), NULL, &err);
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
