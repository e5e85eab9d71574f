#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_spm.h"
#include "tests/unit/tokenizer/small_vocab.h"

#include <math.h>
#include <stdlib.h>

#define BYTE(value) (SPM_BYTES + (value))

// The vocabulary of a test, which puts no space before texts unless the test says so.
static struct small_spm small;

static int setup(void **state)
{
    (void)state;
    small_spm_init(&small);
    small.vocab.add_space_prefix = 0;
    return 0;
}

static void expect_ids_of(const struct gi_vocab *vocab, const char *text, int flags,
                          const int32_t *expected, size_t n_expected)
{
    struct gi_tokenizer *tokenizer = must_create(vocab);
    expect_ids(tokenizer, small_text(text), flags, expected, n_expected);
    gi_tokenizer_destroy(tokenizer);
}

#define EXPECT_IDS(text, flags, ...) expect_ids_of(&small.vocab, text, flags, IDS(__VA_ARGS__))

//-- pieces ------------------------------------------------------------------------------------

TEST(spm_merges_the_best_score_first)
{
    EXPECT_IDS("hello", 0, SPM_HELLO);
    EXPECT_IDS("hel", 0, SPM_HE, SPM_L);
    EXPECT_IDS(" hell", 0, SPM_SPACE, SPM_HELL);
    EXPECT_IDS(" he", 0, SPM_SPACE_HE);
    small.scores[SPM_EL] = 1;
    EXPECT_IDS("hell", 0, SPM_H, SPM_EL, SPM_L);
}

TEST(spm_merges_the_leftmost_of_equals)
{
    EXPECT_IDS("lllll", 0, SPM_LL, SPM_LL, SPM_L);
    small.vocab.scores = NULL;
    EXPECT_IDS("hel", 0, SPM_HE, SPM_L);
}

TEST(spm_takes_scores_that_are_no_numbers_last)
{
    small.scores[SPM_HE] = NAN;
    EXPECT_IDS("hel", 0, SPM_H, SPM_EL);
    small.scores[SPM_HE] = -INFINITY;
    EXPECT_IDS("hel", 0, SPM_H, SPM_EL);
    small.scores[SPM_HE] = INFINITY;
    EXPECT_IDS("hel", 0, SPM_HE, SPM_L);
}

TEST(spm_merges_words_apart_unless_a_token_spans_them)
{
    EXPECT_IDS("he he hell", 0, SPM_HE, SPM_SPACE_HE, SPM_SPACE, SPM_HELL);
    EXPECT_IDS("l l", 0, SPM_L, SPM_SPACE, SPM_L);
    small.tokens[SPM_EL] = small_text("l\xe2\x96\x81");
    small.scores[SPM_EL] = 1;
    EXPECT_IDS("l l l", 0, SPM_EL, SPM_EL, SPM_L);
    EXPECT_IDS("ll he", 0, SPM_L, SPM_EL, SPM_HE);
    // Three bytes that a broken character takes begin no word.
    EXPECT_IDS("l\xf0 l", 0, SPM_L, BYTE(0xf0), BYTE(0xe2), BYTE(0x96), BYTE(0x81), SPM_L);
}

TEST(spm_writes_other_characters_in_bytes)
{
    EXPECT_IDS("h\xc3\xa9\n", 0, SPM_H, BYTE(0xc3), BYTE(0xa9), BYTE('\n'));
    EXPECT_IDS("\xf0\x9f\x91\x81", 0, BYTE(0xf0), BYTE(0x9f), BYTE(0x91), BYTE(0x81));
}

TEST(line_bpe_writes_other_characters_in_bytes)
{
    const struct gi_text merges[] = {small_text("h e"), small_text("l l")};
    small.vocab.add_space_prefix = -1; // the default
    small.vocab.model = small_text("gemma4");
    small.vocab.merges = merges;
    small.vocab.n_merges = 2;
    EXPECT_IDS("hell\xc3\xa9 \n", 0, SPM_HE, SPM_LL, BYTE(0xc3), BYTE(0xa9), SPM_SPACE, BYTE('\n'));
    // Broken text is repaired before, and a byte without a token is left out.
    small.tokens[BYTE(0xbf)] = small_text("no byte");
    EXPECT_IDS("l\xff", 0, SPM_L, BYTE(0xef), BYTE(0xbd));
}

TEST(spm_takes_broken_characters_as_they_are)
{
    EXPECT_IDS("\x80h\xff", 0, BYTE(0x80), SPM_H, BYTE(0xff));
    EXPECT_IDS("l\xf0\x9f", 0, SPM_L, SPM_EYE);
}

TEST(spm_writes_unknown_where_bytes_have_no_token)
{
    small.tokens[BYTE('x')] = small_text("x no byte");
    EXPECT_IDS("hxh", 0, SPM_H, SPM_UNKNOWN, SPM_H);
    small.vocab.unk = SPM_COUNT;
    EXPECT_IDS("hxh", 0, SPM_H, SPM_H);
    small.tokens[BYTE(0xc3)] = small_text("\xc3");
    EXPECT_IDS("\xc3\xa9", 0, BYTE(0xc3), BYTE(0xa9));
}

//-- spaces ------------------------------------------------------------------------------------

TEST(spm_puts_a_space_in_front)
{
    small.vocab.add_space_prefix = -1; // the default
    EXPECT_IDS("he", 0, SPM_SPACE_HE);
    EXPECT_IDS(" he", 0, SPM_SPACE, SPM_SPACE_HE);
    small.vocab.add_space_prefix = 1;
    EXPECT_IDS("he", 0, SPM_SPACE_HE);
    small.vocab.add_space_prefix = 0;
    EXPECT_IDS("he", 0, SPM_HE);
}

TEST(spm_puts_no_space_in_front_of_nothing)
{
    small.vocab.add_space_prefix = -1; // the default
    EXPECT_IDS("", ADD_SPECIAL, SPM_BOS);
    EXPECT_IDS("<tool>", 0, SPM_TOOL);
    EXPECT_IDS("<tool><tool>", 0, SPM_TOOL, SPM_TOOL);
}

TEST(spm_puts_a_space_after_special_tokens)
{
    small.vocab.add_space_prefix = -1; // the default
    EXPECT_IDS("he<tool>he", 0, SPM_SPACE_HE, SPM_TOOL, SPM_SPACE_HE);
    EXPECT_IDS("<|user|> he", PARSE_SPECIAL, SPM_USER, SPM_SPACE, SPM_SPACE_HE);
}

TEST(phi3_drops_white_space_after_special_tokens)
{
    small.vocab.add_space_prefix = -1; // the default
    small.vocab.name = small_text("Tiny Phi-3 of sorts");
    EXPECT_IDS("<|user|> \n\the<|end|>\n", PARSE_SPECIAL, SPM_USER, SPM_SPACE_HE, SPM_END);
    EXPECT_IDS("<|end|> <|user|>", PARSE_SPECIAL, SPM_END, SPM_USER);
    EXPECT_IDS("<s> he", PARSE_SPECIAL, SPM_BOS, SPM_SPACE, SPM_SPACE_HE);
}

//-- special tokens ----------------------------------------------------------------------------

TEST(spm_finds_user_defined_tokens_in_any_text)
{
    EXPECT_IDS("he\t\t\the", 0, SPM_HE, SPM_TAB, BYTE('\t'), SPM_HE);
    EXPECT_IDS("<s>he", PARSE_SPECIAL, SPM_BOS, SPM_HE);
}

TEST(spm_makes_no_control_token_of_text)
{
    EXPECT_IDS("<s>", 0, SPM_LESS_S, SPM_GREATER);
    small.types[SPM_BOS] = GI_TOKEN_TYPE_NORMAL;
    EXPECT_IDS("<s>", 0, SPM_BOS);
}

TEST(spm_takes_the_first_of_equal_special_tokens)
{
    small.tokens[SPM_END] = small_text("<|user|>");
    EXPECT_IDS("<|user|>", PARSE_SPECIAL, SPM_USER);
    // In plain text only a user-defined one is found.
    small.types[SPM_END] = GI_TOKEN_TYPE_USER_DEFINED;
    EXPECT_IDS("<|user|>", PARSE_SPECIAL, SPM_USER);
    EXPECT_IDS("<|user|>", 0, SPM_END);
}

TEST(spm_adds_bos_unless_the_file_says_otherwise)
{
    small.vocab.add_space_prefix = -1; // the default
    EXPECT_IDS("he", ADD_SPECIAL, SPM_BOS, SPM_SPACE_HE);
    small.vocab.add_bos = 0;
    small.vocab.add_eos = 1;
    EXPECT_IDS("he", ADD_SPECIAL, SPM_SPACE_HE, SPM_EOS);
    small.vocab.add_bos = 1;
    small.vocab.bos = SPM_USER;
    EXPECT_IDS("he", ADD_SPECIAL, SPM_USER, SPM_SPACE_HE, SPM_EOS);
}

TEST(spm_has_no_default_ids_that_the_vocabulary_lacks)
{
    small.vocab.add_space_prefix = -1; // the default
    small.vocab.n_tokens = 1;
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    int32_t stop_ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, stop_ids), 0);
    gi_tokenizer_destroy(tokenizer);
    EXPECT_IDS("h", ADD_SPECIAL, SPM_UNKNOWN, SPM_UNKNOWN, SPM_UNKNOWN, SPM_UNKNOWN);
}

//-- bytes -------------------------------------------------------------------------------------

TEST(spm_bytes_of_tokens)
{
    small.vocab.add_space_prefix = -1; // the default
    small.tokens[SPM_H] = small_text("\u2581h\u2581\xe2\x96");
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    expect_bytes(tokenizer, SPM_SPACE_HE, " he");
    expect_bytes(tokenizer, SPM_SPACES, "  ");
    expect_bytes(tokenizer, SPM_H, " h \xe2\x96");
    expect_bytes(tokenizer, BYTE(0xe9), "\xe9");
    expect_bytes(tokenizer, SPM_EOS, "</s>");
    expect_bytes(tokenizer, SPM_TOOL, "<tool>");
    expect_bytes(tokenizer, SPM_UNUSED, "");
    gi_tokenizer_destroy(tokenizer);
}

//-- size and damage ---------------------------------------------------------------------------

// n bytes of one kind give n / 2 ids of the other.
static void expect_run(const struct gi_tokenizer *tokenizer, char byte, int32_t id)
{
    enum { SIZE = 200000 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, byte, SIZE);
    struct gi_ids ids = {0};
    struct glinfer_error err;
    assert_true(
        gi_tokenizer_encode(tokenizer, (struct gi_text){text, SIZE}, false, true, &ids, &err));
    assert_int_equal(ids.count, SIZE / 2);
    for (size_t i = 0; i < ids.count; i++) {
        assert_int_equal(ids.data[i], id);
    }
    gi_ids_finish(&ids);
    free(text);
}

TEST(spm_encodes_long_runs)
{
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    expect_run(tokenizer, 'l', SPM_LL);
    expect_run(tokenizer, ' ', SPM_SPACES);
    expect_run(tokenizer, '\t', SPM_TAB);
    gi_tokenizer_destroy(tokenizer);
}

TEST(spm_takes_odd_vocabularies)
{
    small.vocab.add_space_prefix = -1; // the default
    small.vocab.types = NULL;
    EXPECT_IDS("<s>", 0, SPM_SPACE, SPM_BOS);
    small.tokens[SPM_SPACE] = small_text("h");
    small.tokens[SPM_L] = small_text("");
    small.vocab.add_space_prefix = 0;
    EXPECT_IDS("h l", 0, SPM_H, BYTE(0xe2), BYTE(0x96), BYTE(0x81), BYTE('l'));
}

TEST(spm_survives_failing_allocations)
{
    small.vocab.add_space_prefix = -1; // the default
    struct gi_tokenizer *tokenizer = create_in_the_end(&small.vocab);
    encode_in_the_end(tokenizer, small_text("hello hello hello<|end|>\xff\xff\xff"),
                      ADD_SPECIAL | PARSE_SPECIAL);
    gi_tokenizer_destroy(tokenizer);
}

RUN_TESTS_EACH(NULL, NULL, setup, NULL)
