#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_vocab.h"

#include <math.h>
#include <stdlib.h>

enum { PAD, EOS, UNK, A, B, AB, SPACE, COUNT };

// The vocabulary of a test.
static struct {
    struct gi_vocab vocab; // puts no space in front
    struct gi_text tokens[COUNT];
    int32_t types[COUNT];
    float scores[COUNT];
} small;

static int setup(void **state)
{
    (void)state;
    static const char *const texts[] = {"<pad>", "</s>", "<unk>", "a", "b", "ab", "\u2581"};
    memset(&small, 0, sizeof(small));
    for (int id = 0; id < COUNT; id++) {
        small.tokens[id] = small_text(texts[id]);
        small.types[id] = id < UNK ? GI_TOKEN_TYPE_CONTROL : GI_TOKEN_TYPE_NORMAL;
        small.scores[id] = id == AB ? -3 : -2;
    }
    small.types[UNK] = GI_TOKEN_TYPE_UNKNOWN;
    small.vocab = (struct gi_vocab){
        .model = small_text("t5"),
        .tokens = small.tokens,
        .types = small.types,
        .scores = small.scores,
        .n_tokens = COUNT,
        .bos = GI_NO_TOKEN,
        .eos = EOS,
        .eot = GI_NO_TOKEN,
        .eom = GI_NO_TOKEN,
        .unk = UNK,
        .pad = PAD,
        .sep = GI_NO_TOKEN,
    };
    return 0;
}

static void expect_ids_of(const char *text, const int32_t *expected, size_t n_expected)
{
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    expect_ids(tokenizer, small_text(text), 0, expected, n_expected);
    gi_tokenizer_destroy(tokenizer);
}

#define EXPECT_IDS(text, ...) expect_ids_of(text, IDS(__VA_ARGS__))

static void expect_refused(const char *what)
{
    must_fail(gi_tokenizer_create(&small.vocab, &err), BAD_FILE, what);
}

//-- pieces ----------------------------------------------------------------------------------------

static struct gi_vocab *make_vocab(void)
{
    setup(NULL);
    return &small.vocab;
}

TEST(unigram_encodes_texts)
{
    each_encoding("unigram", make_vocab);
}

TEST(unigram_refuses_scores_that_are_no_numbers)
{
    static const float scores[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
        small.scores[B] = scores[i];
        expect_refused("the score (tokenizer.ggml.scores) of token 4 is");
    }
}

// A walk over all of them at every byte would take many seconds.
TEST(unigram_passes_equal_pieces_once)
{
    enum { N_EQUAL = 200000, SIZE = 20000 };
    struct gi_text *tokens = calloc(N_EQUAL, sizeof(*tokens));
    char *text = malloc(SIZE);
    assert_true(tokens && text);
    memset(text, 'a', SIZE);
    for (size_t id = 0; id < N_EQUAL; id++) {
        tokens[id] = small_text("a");
    }
    small.vocab.tokens = tokens;
    small.vocab.types = NULL;
    small.vocab.scores = NULL;
    small.vocab.n_tokens = N_EQUAL;
    struct gi_tokenizer *tokenizer = must_create(&small.vocab);
    struct gi_ids ids = {0};
    assert_true(
        gi_tokenizer_encode(tokenizer, (struct gi_text){text, SIZE}, false, false, &ids, NULL));
    assert_int_equal(ids.count, SIZE);
    assert_int_equal(ids.data[SIZE - 1], N_EQUAL - 1);
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
    free(text);
    free(tokens);
}

//-- the normaliser --------------------------------------------------------------------------------

enum { N_NODES = 128, MAP_SIZE = 4 + 4 * N_NODES + 3 };

static void set_u32(char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (char)(value >> 8 * i);
    }
}

// Writes a map of c to "ab": the root leads to c at 1 ^ c, whose end is at 2.
static void write_map(char map[MAP_SIZE], uint32_t replacement)
{
    const uint32_t at = 1 ^ 'c';
    set_u32(map, 4 * N_NODES);
    for (uint32_t i = 0; i < N_NODES; i++) {
        const uint32_t node = i == 0    ? UINT32_C(1) << 10
                              : i == at ? (at ^ 2) << 10 | 1 << 8 | 'c'
                              : i == 2  ? UINT32_C(1) << 31 | replacement
                                        : UINT32_C(1) << 31;
        set_u32(map + 4 + 4 * i, node);
    }
    memcpy(map + 4 + 4 * N_NODES, "ab", 3);
}

TEST(unigram_reads_its_text_through_the_map)
{
    char map[MAP_SIZE];
    EXPECT_IDS("cb\xff", UNK, B, UNK);
    write_map(map, 0);
    small.vocab.charsmap = (struct gi_text){map, MAP_SIZE};
    EXPECT_IDS("cb\xff", AB, B, UNK);
    // A replacement past the end replaces nothing.
    write_map(map, 3);
    EXPECT_IDS("cb", UNK, B);
}

TEST(unigram_refuses_a_damaged_map)
{
    char map[MAP_SIZE];
    write_map(map, 0);
    for (size_t size = 1; size < MAP_SIZE; size++) {
        small.vocab.charsmap = (struct gi_text){map, size};
        expect_refused("tokenizer.ggml.precompiled_charsmap of");
    }
    set_u32(map, UINT32_MAX);
    small.vocab.charsmap = (struct gi_text){map, MAP_SIZE};
    expect_refused("is cut off");
}

RUN_TESTS_EACH(NULL, NULL, setup, NULL)
