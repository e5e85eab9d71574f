// Masks: a token is allowed exactly if a copy of the state accepts it.
#include "grammar/grammar_matcher.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/grammar/create_grammar.h"

#include <stdlib.h>
#include <string.h>

enum { N_TOKENS = 77 };

static const struct gi_grammar_token *vocab_tokens(void)
{
    static const char *const texts[N_TOKENS] = {
        "<end>", "<call>",     "",         "{",        "}",    "\"",   "\":",  "{\"",    "\"}",
        ",",     ", \"",       "[",        "]",        "]]",   "[[[",  "a",    "ab",     "abc",
        "b",     "c",          "0",        "1",        "12",   "-",    "-1",   "true",   "tr",
        "ue",    "null",       "\\",       "\\\"",     "\\n",  " ",    "  ",   "\n",     "x",
        "\xC3",  "\xA9",       "\xC3\xA9", "\xE6\x97", "\xA5", "\xE6", "\x97", "\xA5\"", "\xF0\x9F",
        "\x98",  "\x80",       "<tool>",   "tool",     "<to",  "ol>",  "ab",   "}}",     "\":{",
        "\xFF",  "abcdefghij", "<end2>",   "{\"a\":",  "1,",   "1]",   "1}",   "e",      "E5",
        ".5",    ".",          "l",        "nul",      "r",    "t",    "u",    "f",      "false",
        ":",     ": ",         "y",        "z",        "(",
    };
    static struct gi_grammar_token tokens[N_TOKENS];
    for (size_t i = 0; i < N_TOKENS; i++) {
        tokens[i] = (struct gi_grammar_token){.bytes = texts[i], .size = strlen(texts[i])};
    }
    tokens[0].kind = GI_GRAMMAR_TOKEN_END;
    tokens[56].kind = GI_GRAMMAR_TOKEN_END;
    tokens[1].kind = GI_GRAMMAR_TOKEN_CONTROL;
    return tokens;
}

static int32_t find_name(void *user, const char *text, size_t size)
{
    const struct gi_grammar_token *tokens = user;
    for (int32_t i = 0; i < N_TOKENS; i++) {
        if (tokens[i].size == size && memcmp(tokens[i].bytes, text, size) == 0) {
            return i;
        }
    }
    return -1;
}

struct fixture {
    struct gi_grammar *grammar;
    struct gi_grammar_vocab *vocab;
    struct gi_grammar_matcher *matcher;
    struct gi_grammar_state state;
};

static void begin(struct fixture *fixture, const char *text,
                  struct gi_grammar_matcher_params params)
{
    const struct gi_grammar_token *tokens = vocab_tokens();
    const struct gi_grammar_names names = {find_name, (void *)tokens, N_TOKENS};
    struct glinfer_error err = {0};
    fixture->vocab = gi_grammar_vocab_create(tokens, N_TOKENS, &err);
    fixture->grammar = create_grammar(text, strlen(text), &names, &err);
    must(fixture->grammar, &err);
    params.grammar = fixture->grammar;
    params.vocab = fixture->vocab;
    fixture->matcher = gi_grammar_matcher_create(&params, &err);
    assert_non_null(fixture->matcher);
    gi_grammar_state_init(&fixture->state, fixture->matcher);
}

static void finish(struct fixture *fixture)
{
    gi_grammar_state_finish(&fixture->state);
    gi_grammar_matcher_destroy(fixture->matcher);
    gi_grammar_vocab_destroy(fixture->vocab);
    gi_grammar_destroy(fixture->grammar);
}

static bool has_token(const uint32_t *bits, int32_t token)
{
    return bits[token / 32] >> token % 32 & 1;
}

static bool accepts(const struct gi_grammar_state *state, int32_t token)
{
    struct gi_grammar_state copy;
    gi_grammar_state_copy(&copy, state);
    const bool is_ok = gi_grammar_accept(&copy, token, NULL);
    gi_grammar_state_finish(&copy);
    return is_ok;
}

static void expect_mask_of_state(struct fixture *fixture)
{
    uint32_t bits[(N_TOKENS + 31) / 32] = {0};
    const bool has_some = gi_grammar_mask(&fixture->state, bits, NULL);
    for (int32_t i = 0; i < N_TOKENS; i++) {
        const bool is_ok = accepts(&fixture->state, i);
        if (is_ok != (has_some && has_token(bits, i))) {
            fail_msg("token %d: accepted %d", i, is_ok);
        }
    }
    assert_true(bits[N_TOKENS / 32] < 1u << N_TOKENS % 32);
}

static const char *const grammars[] = {
    "root ::= value\n"
    "value ::= \"{\" (pair (\",\" pair)*)? \"}\" | \"[\" (value (\",\" value)*)? \"]\" | string | "
    "[0-9]+ | \"true\" | \"null\"\n"
    "pair ::= string \":\" \" \"? value\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"\\\\n])* \"\\\"\"",
    "root ::= .*",
    "root ::= ([a-c]{2,5} | \"x\" \"\xC3\xA9\"+ | \"\xE6\x97\xA5\" root)+",
    "root ::= (<call> | !<tool> | \"ab\")* <[2]>",
    "root ::= !<[16]> !<[15]> | <[16]> \"c\" | \"a\"",
    "root ::= \"a\" \"~\"",
};

TEST(masks_are_what_is_accepted)
{
    uint32_t chance = 7;
    for (size_t g = 0; g < sizeof(grammars) / sizeof(grammars[0]); g++) {
        struct fixture fixture;
        begin(&fixture, grammars[g], (struct gi_grammar_matcher_params){0});
        for (int step = 0; step < 60; step++) {
            uint32_t bits[(N_TOKENS + 31) / 32];
            expect_mask_of_state(&fixture);
            if (!gi_grammar_mask(&fixture.state, bits, NULL)) {
                break;
            }
            for (int tries = 0; tries < 1000; tries++) {
                chance = chance * 1664525u + 1013904223u;
                const int32_t token = (int32_t)((chance >> 8) % N_TOKENS);
                if (has_token(bits, token)) {
                    assert_true(gi_grammar_accept(&fixture.state, token, NULL));
                    break;
                }
            }
        }
        finish(&fixture);
    }
}

TEST(a_dead_end_is_an_error)
{
    struct fixture fixture;
    uint32_t bits[(N_TOKENS + 31) / 32];
    begin(&fixture, "root ::= \"a\" \"~\"", (struct gi_grammar_matcher_params){0});
    must_do(gi_grammar_accept(&fixture.state, 15, &err));
    must_fail(gi_grammar_mask(&fixture.state, bits, &err), INVALID_ARGUMENT, "dead end");
    must_fail(gi_grammar_accept(&fixture.state, -1, &err), INVALID_ARGUMENT, "");
    must_fail(gi_grammar_accept(&fixture.state, N_TOKENS, &err), INVALID_ARGUMENT, "");
    must_fail(gi_grammar_accept(&fixture.state, 0, &err), INVALID_ARGUMENT, "");
    finish(&fixture);
}

TEST(a_lazy_grammar_waits_for_a_word)
{
    static const char *const words[] = {"<tool>", "tool>x"};
    static const int32_t text[] = {15, 3, 49, 15, 49};
    struct fixture fixture;
    uint32_t bits[(N_TOKENS + 31) / 32];
    begin(&fixture, "root ::= \"<tool>\" [0-9] \"]\"",
          (struct gi_grammar_matcher_params){.trigger_words = words, .n_trigger_words = 2});
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) { // a{<toa<to
        assert_true(gi_grammar_accept(&fixture.state, text[i], NULL));
        assert_true(gi_grammar_may_end(&fixture.state));
        expect_mask_of_state(&fixture);
    }
    assert_true(gi_grammar_accept(&fixture.state, 50, NULL)); // ol>
    assert_false(gi_grammar_may_end(&fixture.state));
    assert_true(gi_grammar_mask(&fixture.state, bits, NULL));
    assert_true(has_token(bits, 59) && has_token(bits, 20) && !has_token(bits, 15));
    assert_true(gi_grammar_accept(&fixture.state, 59, NULL)); // 1]
    assert_true(gi_grammar_may_end(&fixture.state));
    assert_true(gi_grammar_mask(&fixture.state, bits, NULL));
    assert_true(has_token(bits, 0) && has_token(bits, 56) && !has_token(bits, 15));
    finish(&fixture);
    // A token that ends the word and goes on otherwise than the grammar.
    begin(&fixture, "root ::= \"tool>x\"",
          (struct gi_grammar_matcher_params){.trigger_words = &words[0], .n_trigger_words = 1});
    assert_false(gi_grammar_accept_bytes(&fixture.state, "a<tool>b", 8, NULL));
    assert_true(fixture.state.is_waiting);
    finish(&fixture);
}

TEST(a_lazy_grammar_waits_for_a_token)
{
    static const int32_t trigger[] = {1};
    struct fixture fixture;
    begin(&fixture, "root ::= <call> [0-9]",
          (struct gi_grammar_matcher_params){.trigger_tokens = trigger, .n_trigger_tokens = 1});
    assert_true(gi_grammar_accept(&fixture.state, 15, NULL));
    assert_true(fixture.state.is_waiting);
    assert_true(gi_grammar_accept(&fixture.state, 1, NULL));
    assert_false(fixture.state.is_waiting);
    assert_false(gi_grammar_accept(&fixture.state, 15, NULL));
    assert_true(gi_grammar_accept(&fixture.state, 20, NULL));
    assert_true(gi_grammar_may_end(&fixture.state));
    finish(&fixture);
}

TEST(triggers_are_checked)
{
    static const char *const words[] = {""};
    static const int32_t trigger[] = {N_TOKENS};
    struct fixture fixture;
    struct glinfer_error err = {0};
    begin(&fixture, "root ::= \"a\"", (struct gi_grammar_matcher_params){0});
    struct gi_grammar_matcher_params params = {.grammar = fixture.grammar,
                                               .vocab = fixture.vocab,
                                               .trigger_words = words,
                                               .n_trigger_words = 1};
    assert_null(gi_grammar_matcher_create(&params, &err));
    assert_says(err.message, "1 to 256 bytes");
    params.n_trigger_words = 0;
    params.trigger_tokens = trigger;
    params.n_trigger_tokens = 1;
    assert_null(gi_grammar_matcher_create(&params, &err));
    assert_says(err.message, "trigger token 77");
    finish(&fixture);
}

TEST(names_of_tokens_are_checked)
{
    static const char *const texts[] = {"root ::= <nothing>", "root ::= <[77]>", "root ::= <[1>"};
    const struct gi_grammar_names names = {find_name, (void *)vocab_tokens(), N_TOKENS};
    for (size_t i = 0; i < 3; i++) {
        struct glinfer_error err = {0};
        assert_null(create_grammar(texts[i], strlen(texts[i]), &names, &err));
        assert_says(err.message, "line 1, column 1");
    }
}

RUN_TESTS(NULL, NULL)
