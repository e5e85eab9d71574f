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

static struct gi_vocab *make_vocab(void)
{
    small_spm_init(&small);
    small.vocab.add_space_prefix = 0;
    return &small.vocab;
}

TEST(spm_encodes_texts)
{
    each_encoding("spm", make_vocab);
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

TEST(spm_has_no_default_ids_that_the_vocabulary_lacks)
{
    small.vocab.add_space_prefix = -1; // the default
    small.vocab.n_tokens = 1;
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    int32_t stop_ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, stop_ids), 0);
    gi_tokenizer_destroy(tokenizer);
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
    must_do(gi_tokenizer_encode(tokenizer, (struct gi_text){text, SIZE}, false, true, &ids, &err));
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

TEST(spm_survives_failing_allocations)
{
    small.vocab.add_space_prefix = -1; // the default
    struct gi_tokenizer *tokenizer = create_in_the_end(&small.vocab);
    encode_in_the_end(tokenizer, small_text("hello hello hello<|end|>\xff\xff\xff"),
                      ADD_SPECIAL | PARSE_SPECIAL);
    gi_tokenizer_destroy(tokenizer);
}

RUN_TESTS_EACH(NULL, NULL, setup, NULL)
