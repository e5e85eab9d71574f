// Tests the steps of a tokenizer.json, and the tokens that it adds.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_vocab.h"
#include "tokenizer/steps/steps.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS __attribute__((cleanup(destroy_steps))) struct gi_steps
static void destroy_steps(struct gi_steps **steps)
{
    gi_steps_destroy(*steps);
}

static struct gi_steps *create_step(const char *name, const char *expression, const char *text,
                                    struct glinfer_error *err)
{
    const struct gi_text texts[] = {gi_text_of(name), gi_text_of(expression), gi_text_of(text)};
    return gi_steps_create(texts, GI_TEXTS_PER_STEP, (struct gi_text){0}, err);
}

// Checks the pieces that a step makes of a text, each followed by |.
static void expect_pieces(const struct gi_steps *steps, size_t n_steps, const char *text,
                          bool is_first, const char *expected)
{
    struct gi_cut cut = {0};
    char joined[512];
    size_t n = 0, begin = 0;
    must_do(gi_steps_run(steps, 0, n_steps, gi_text_of(text), is_first, &cut, &err));
    for (size_t i = 0; i < cut.ends.count; i++) {
        n += (size_t)snprintf(joined + n, sizeof(joined) - n, "%.*s|",
                              (int)(cut.ends.data[i] - begin), cut.bytes.data + begin);
        begin = cut.ends.data[i];
    }
    joined[n] = 0;
    assert_string_equal(joined, expected);
    gi_cut_finish(&cut);
}

//-- one step ----------------------------------------------------------------------------------

static const struct step_case {
    const char *name, *expression, *text;
    const char *input, *expected;
} step_cases[] = {
    {"nfc", "", "", "e\u0301 a\u0323\u0302 \u1100\u1161\u11a8 \u212b",
     "\u00e9 \u1ead \uac01 \u00c5|"},
    {"nfc", "", "", "a\u0302\u0323 \u0958 \u2adc", "\u1ead \u0915\u093c \u2add\u0338|"},
    {"nfd", "", "", "\u00e9 \u1ead \uac01", "e\u0301 a\u0323\u0302 \u1100\u1161\u11a8|"},
    {"nfkc", "", "", "\ufb01 \u00bd \u2460 \uff21 e\u0301", "fi 1\u20442 1 A \u00e9|"},
    {"nfkd", "", "", "\u00e9\u2026", "e\u0301...|"},
    {"nfc", "", "", "plain", "plain|"},
    {"lowercase", "", "", "ABC \u00c4 \u0130 \u03a3", "abc \u00e4 i\u0307 \u03c3|"},
    {"prepend", "", "_", "a b", "_a b|"},
    {"prepend", "", "_", "", ""},
    {"prefix", "", "_", "a", "_a|"},
    {"prefix", "", "_", "_a", "_a|"},
    {"prefix_first", "", "_", "a", "_a|"},
    {"replace", " ", "_", " a  b", "_a__b|"},
    {"replace", "a*", "-", "baac", "-b-c-|"},
    {"replace", "x", "", "xx", ""},
    {"surround", "[bc]", " ", "abcd", "a b  c d|"},
    {"isolate", "[0-9]+", "", "a12b3", "a|12|b|3|"},
    {"isolate", "(?=[0-9])", "", "a12", "a|1|2|"},
    {"isolate", "^a", "", "a\na", "a|\n|a|"},
    {"remove", " +", "", " a  b ", "a|b|"},
    {"keep", "[a-z]+", "", "1ab2c3", "ab|c|"},
    {"contiguous", "[0-9]", "", "a12b3", "a|12|b|3|"},
    {"with_previous", " ", "", "a  b c", "a | |b |c|"},
    {"with_previous", " ", "", " a", " |a|"},
    {"with_next", "_", "", "_a__b_", "_a|_|_b|_|"},
    {"but_with_previous", "_", "", "_a_b", "_a|_b|"},
    {"but_with_next", "_", "", "a_b_c", "a_|b_|c|"},
    {"isolate", "\u00e9", "", "caf\u00e9s", "caf|\u00e9|s|"},
    {"added_tokens", "", "", "a", "a|"},
};

TEST(a_step_changes_or_cuts_a_text)
{
    for (size_t i = 0; i < sizeof(step_cases) / sizeof(step_cases[0]); i++) {
        const struct step_case *c = &step_cases[i];
        STEPS *steps = must_do(create_step(c->name, c->expression, c->text, &err));
        expect_pieces(steps, 1, c->input, true, c->expected);
    }
}

TEST(steps_follow_each_other_and_see_one_piece_at_a_time)
{
    const char *const texts[] = {"replace",      " ", "_", "with_next", "_",  "", "prefix", "", "_",
                                 "prefix_first", "",  "^", "isolate",   "b$", ""};
    struct gi_text list[15];
    for (size_t i = 0; i < 15; i++) {
        list[i] = gi_text_of(texts[i]);
    }
    size_t marker;
    STEPS *steps = must_do(gi_steps_create(list, 15, (struct gi_text){0}, &err));
    assert_int_equal(gi_steps_count(steps, &marker), 5);
    assert_int_equal(marker, 0);
    expect_pieces(steps, 5, "ab b ab", true, "^_a|b|_|b|_a|b|");
    expect_pieces(steps, 5, "ab b ab", false, "_a|b|_|b|_a|b|");
}

TEST(marks_in_any_order_take_little_time)
{
    enum { N = 1 << 17 };
    STEPS *steps = must_do(create_step("nfc", "", "", &err));
    struct gi_bytes text = {0};
    struct gi_cut cut = {0};
    must_do(gi_bytes_push(&text, gi_text_of("a"), &err));
    for (size_t i = 0; i < N; i++) {
        must_do(gi_bytes_push(&text, gi_text_of("\u0301\u0323"), &err));
    }
    must_do(gi_steps_run(steps, 0, 1, (struct gi_text){text.data, text.count}, true, &cut, &err));
    assert_memory_equal(cut.bytes.data, "\u1ea1\u0323\u0323", 7);
    assert_int_equal(cut.bytes.count, text.count); // two bytes of a mark went into the character
    gi_cut_finish(&cut);
    free(text.data);
}

//-- refused -----------------------------------------------------------------------------------

static const struct {
    const char *name, *expression, *text, *words;
} refused[] = {
    {"jump", "", "", "the step 'jump' (glinfer.tokenizer.steps) is not supported"},
    {"", "", "", "the step '' (glinfer.tokenizer.steps) is not supported"},
    {"isolate", "(", "",
     "PCRE2 cannot compile the expression '(' (isolate) of the tokenizer: byte 1: missing"},
    {"isolate", "\\C", "", "PCRE2 cannot compile"},
    {"replace", "a", "\xff", "step 0 of the tokenizer (glinfer.tokenizer.steps) has a text of 1"},
    {"isolate", "\xc3", "", "step 0 of the tokenizer"},
};

TEST(steps_that_cannot_be_taken_are_refused)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        must_fail(create_step(refused[i].name, refused[i].expression, refused[i].text, &err),
                  UNSUPPORTED, refused[i].words);
    }
    const struct gi_text texts[3 * (GI_STEPS_MAX + 1)] = {0};
    must_fail(gi_steps_create(texts, 2, (struct gi_text){0}, &err), UNSUPPORTED, "has 2 texts");
    must_fail(gi_steps_create(texts, 3 * (GI_STEPS_MAX + 1), (struct gi_text){0}, &err),
              UNSUPPORTED, "at most 64 steps");
}

TEST(an_expression_that_calls_itself_for_ever_is_an_error)
{
    STEPS *steps = must_do(create_step("isolate", "a(?:b?(?1))?|(x*(?1)y)", "", &err));
    struct gi_cut cut = {0};
    must_fail(gi_steps_run(steps, 0, 1, gi_text_of("aaa"), true, &cut, &err), UNSUPPORTED,
              "an expression of the tokenizer does not end");
    gi_cut_finish(&cut);
}

TEST(an_expression_that_backtracks_for_ever_is_an_error)
{
    STEPS *steps = must_do(create_step("isolate", "(?:a?){60}a{60}b|(?:a|aa)+$", "", &err));
    struct gi_cut cut = {0};
    char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac";
    must_fail(gi_steps_run(steps, 0, 1, gi_text_of(text), true, &cut, &err), UNSUPPORTED,
              "an expression of the tokenizer does not end");
    gi_cut_finish(&cut);
}

TEST(steps_that_make_a_text_many_times_longer_are_an_error)
{
    static char long_text[8192];
    memset(long_text, 'a', sizeof(long_text) - 1);
    const struct gi_text replace[] = {gi_text_of("replace"), gi_text_of("a"),
                                      gi_text_of(long_text)};
    const struct gi_text texts[] = {replace[0], replace[1], replace[2],
                                    replace[0], replace[1], replace[2]};
    STEPS *steps = must_do(gi_steps_create(texts, 6, (struct gi_text){0}, &err));
    struct gi_cut cut = {0};
    must_do(gi_steps_run(steps, 0, 1, gi_text_of("a"), true, &cut, &err));
    must_fail(gi_steps_run(steps, 0, 2, gi_text_of("a"), true, &cut, &err), UNSUPPORTED,
              "a step of the tokenizer makes more than");
    gi_cut_finish(&cut);
}

//-- added tokens ------------------------------------------------------------------------------

enum { N_ADDED = 4 };
static const int32_t added[N_ADDED] = {SMALL_IM_START, SMALL_IM_END, SMALL_TOOL, SMALL_TOOL_CALL};

// Returns a tokenizer whose added tokens have these rules, and the texts of steps.
static struct gi_tokenizer *create_added(const int32_t rules[N_ADDED], const char *const *texts,
                                         size_t n_texts, struct glinfer_error *err)
{
    static struct gi_text steps[9];
    struct small_vocab small;
    small_vocab_init(&small);
    for (size_t i = 0; i < n_texts; i++) {
        steps[i] = gi_text_of(texts[i]);
    }
    small.vocab.pre = gi_text_of("unknown to all");
    small.vocab.rules = (struct gi_vocab_rules){
        .is_present = true,
        .steps = steps,
        .n_step_texts = n_texts,
        .added = added,
        .added_rules = rules,
        .n_added = N_ADDED,
    };
    return gi_tokenizer_create(&small.vocab, err);
}

static void expect_text(const struct gi_tokenizer *tokenizer, const char *text,
                        const int32_t *expected, size_t n_expected)
{
    expect_ids(tokenizer, gi_text_of(text), PARSE_SPECIAL, expected, n_expected);
}

TEST(added_tokens_take_white_space_and_stand_alone)
{
    const int32_t rules[N_ADDED] = {GI_ADDED_LSTRIP, GI_ADDED_RSTRIP, GI_ADDED_SINGLE_WORD,
                                    GI_ADDED_LSTRIP | GI_ADDED_RSTRIP | GI_ADDED_SINGLE_WORD};
    struct gi_tokenizer *t = must_do(create_added(rules, NULL, 0, &err));
    expect_text(t, "l \u3000\n<|im_start|> l", IDS('l', SMALL_IM_START, ' ', 'l'));
    expect_text(t, "l <|im_end|> \t\u00a0l", IDS('l', ' ', SMALL_IM_END, 'l'));
    expect_text(t, " <|im_end|>  <|im_start|>", IDS(' ', SMALL_IM_END, SMALL_IM_START));
    expect_text(t, "-<tool>-", IDS('-', SMALL_TOOL, '-'));
    expect_text(t, "<tool>", IDS(SMALL_TOOL));
    expect_text(t, " <tool>call ", IDS(SMALL_TOOL_CALL));
    // The longest is found first, and what is not alone is not looked at again.
    expect_text(t, "<tool>calls", IDS('<', 't', 'o', 'o', 'l', '>', 'c', 'a', SMALL_LL, 's'));
    gi_tokenizer_destroy(t);
}

TEST(added_tokens_are_found_from_left_to_right)
{
    const int32_t rules[N_ADDED] = {0};
    struct gi_tokenizer *t = must_do(create_added(rules, NULL, 0, &err));
    expect_text(
        t, "<|im_start|><|im_end|><|im_start|",
        IDS(SMALL_IM_START, SMALL_IM_END, '<', '|', 'i', 'm', '_', 's', 't', 'a', 'r', 't', '|'));
    // Control tokens of the vocabulary that are not added are text.
    expect_text(t, "<unk>", IDS('<', 'u', 'n', 'k', '>'));
    // So are all, where the text is data.
    expect_ids(t, gi_text_of("<|im_end|>"), 0,
               IDS('<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>'));
    gi_tokenizer_destroy(t);
}

TEST(added_tokens_are_found_in_the_normalised_text)
{
    const char *const texts[] = {"lowercase", "", "", "added_tokens", "", "", "isolate", "l", ""};
    const int32_t rules[N_ADDED] = {GI_ADDED_NORMALIZED, 0, GI_ADDED_NORMALIZED | GI_ADDED_RSTRIP,
                                    GI_ADDED_NORMALIZED};
    struct gi_tokenizer *t = must_do(create_added(rules, texts, 9, &err));
    expect_text(t, "L<|IM_START|>LL", IDS('l', SMALL_IM_START, 'l', 'l'));
    expect_text(t, "<|IM_END|>", IDS('<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>'));
    expect_text(t, "<|im_end|><TOOL> H", IDS(SMALL_IM_END, SMALL_TOOL, 'h'));
    expect_ids(t, gi_text_of("<|IM_START|>"), 0,
               IDS('<', '|', 'i', 'm', '_', 's', 't', 'a', 'r', 't', '|', '>'));
    gi_tokenizer_destroy(t);
}

TEST(added_tokens_outside_the_vocabulary_are_refused)
{
    struct small_vocab small;
    small_vocab_init(&small);
    const int32_t ids[] = {SMALL_VOCAB_MAX}, negative[] = {-1}, rules[] = {0};
    small.vocab.rules = (struct gi_vocab_rules){
        .is_present = true, .added = ids, .added_rules = rules, .n_added = 1};
    must_fail(gi_tokenizer_create(&small.vocab, &err), BAD_FILE, "the added token 320");
    small.vocab.rules.added = negative;
    must_fail(gi_tokenizer_create(&small.vocab, &err), BAD_FILE, "the added token -1");
}

TEST(an_unknown_token_outside_the_vocabulary_is_never_an_id)
{
    const int32_t rules[N_ADDED] = {0};
    struct small_vocab small;
    small_vocab_init(&small);
    small.vocab.unk = SMALL_VOCAB_MAX;
    small.vocab.n_merges = 0;
    small.tokens['a'] = gi_text_of("another spelling");
    small.vocab.rules = (struct gi_vocab_rules){
        .is_present = true, .added = added, .added_rules = rules, .n_added = N_ADDED};
    struct gi_tokenizer *t = must_do(gi_tokenizer_create(&small.vocab, &err));
    expect_text(t, "bab", IDS('b', 'b'));
    gi_tokenizer_destroy(t);
}

//-- without memory ----------------------------------------------------------------------------

TEST(every_failed_allocation_is_reported)
{
    const char *const texts[] = {"nfc", "", "", "added_tokens", "", "", "isolate", "l", ""};
    const int32_t rules[N_ADDED] = {GI_ADDED_NORMALIZED, 0, 0, GI_ADDED_NORMALIZED};
    struct gi_tokenizer *t = NULL;
    struct glinfer_error err = {0};
    for (long n = 0; !t; n++) {
        fail_allocations_after(n);
        t = create_added(rules, texts, 9, &err);
        fail_allocations_after(-1);
        assert_true(t || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    encode_in_the_end(t, gi_text_of("hel\u0301lo <|im_start|><tool> e\u0323\u0301"),
                      ADD_SPECIAL | PARSE_SPECIAL);
    gi_tokenizer_destroy(t);
}

RUN_TESTS(NULL, NULL)
