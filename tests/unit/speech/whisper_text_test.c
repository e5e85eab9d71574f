// Tests the vocabulary: tokens of texts, texts of tokens, suppressed tokens.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_opened.h"
#include "tests/unit/speech/fake/fake_net.h"

#include <stdlib.h>

static struct gi_whisper_model model;

static int open_model(void **state)
{
    (void)state;
    fake_model_init(&model, 51864);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    gi_whisper_model_finish(&model);
    return 0;
}

static void expect_tokens(const char *string, const uint32_t *expected, size_t n)
{
    struct gi_whisper_id_list ids = {0};
    must_do(gi_whisper_encode(model.text, string, &ids, &err));
    assert_int_equal(ids.count, n);
    if (n > 0) {
        assert_memory_equal(ids.data, expected, n * sizeof(*expected));
    }
    free(ids.data);
}
#define EXPECT_TOKENS(string, ...)                                                                 \
    expect_tokens(string, (const uint32_t[]){__VA_ARGS__},                                         \
                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

TEST(the_pair_with_the_lowest_id_is_merged_first)
{
    expect_tokens("", NULL, 0);
    EXPECT_TOKENS("the", T_THE_ALONE);
    EXPECT_TOKENS(" the", T_THE); // through "th", although " t" comes first
    EXPECT_TOKENS(" to", T_SPACE_T, 'o');
    EXPECT_TOKENS("on the", T_ON, T_THE);
    EXPECT_TOKENS("ththe", T_TH, T_THE_ALONE);
    EXPECT_TOKENS("o n", 'o', ' ', 'n'); // words are encoded apart
    EXPECT_TOKENS("\xe2\x82\xac", T_EURO_BEGIN, 0xac);
}

TEST(any_bytes_are_encoded)
{
    EXPECT_TOKENS("\xff", 0xef, 0xbf, 0xbd);
    EXPECT_TOKENS("a\xe2\x82", 'a', 0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd);
    char *longest = malloc(100001);
    struct gi_whisper_id_list ids = {0};
    memset(longest, 'o', 100000);
    longest[100000] = 0;
    must_do(gi_whisper_encode(model.text, longest, &ids, &err));
    assert_int_equal(ids.count, 100000);
    free(ids.data);
    free(longest);
}

TEST(special_tokens_have_no_text)
{
    assert_int_equal(gi_whisper_token_text(model.text, T_CAT).size, 4);
    assert_int_equal(gi_whisper_token_text(model.text, 'a').size, 1);
    assert_int_equal(gi_whisper_token_text(model.text, 300).size, 0);
    assert_int_equal(gi_whisper_token_text(model.text, 50363).size, 0);
    assert_int_equal(gi_whisper_token_text(model.text, UINT32_MAX).size, 0);
}

static bool is_set(const uint32_t *bits, uint32_t id)
{
    return bits[id / 32] >> id % 32 & 1;
}

TEST(expressions_match_whole_tokens)
{
    uint32_t bits[16] = {0};
    must_do(gi_whisper_suppress_regex(model.text, "(?i) T.*|[0-9]", bits, &err));
    assert_true(is_set(bits, T_THE) && is_set(bits, T_SPACE_T) && is_set(bits, '7'));
    assert_false(is_set(bits, T_CAT) || is_set(bits, T_TH) || is_set(bits, ' '));
    must_fail(gi_whisper_suppress_regex(model.text, "a{2,1}", bits, &err), INVALID_ARGUMENT,
              "invalid regular expression 'a{2,1}': byte");
}

TEST(symbols_are_suppressed)
{
    uint32_t bits[16] = {0};
    gi_whisper_suppress_symbols(model.text, bits);
    assert_true(is_set(bits, T_NOTE) && is_set(bits, '(') && is_set(bits, '['));
    assert_false(is_set(bits, '-') || is_set(bits, '.') || is_set(bits, T_THE));
}

static void expect_refused(uint32_t n_vocab, uint32_t n_mel, uint32_t n_tokens, const char *words)
{
    BUILDER b = {0};
    struct gi_whisper_model refused;
    gguf_header(&b, 0, 4);
    gguf_pair_u32(&b, "whisper.vocab_size", n_vocab);
    gguf_pair_u32(&b, "whisper.mel_count", n_mel);
    gguf_array(&b, "whisper.mel_filters", GI_GGUF_KIND_F32, GI_MEL_N_BINS);
    for (int i = 0; i < GI_MEL_N_BINS; i++) {
        gguf_f32(&b, 1);
    }
    gguf_array(&b, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, n_tokens);
    for (uint32_t i = 0; i < n_tokens; i++) {
        gguf_string(&b, "a");
    }
    gguf_pad(&b, 32);
    OPENED file = open_bytes(&b, b.size);
    must(file.gguf, &file.err);
    must_fail(gi_whisper_model_init(&refused, file.gguf, &err), BAD_FILE, words);
}

TEST(files_without_their_parts_are_refused)
{
    expect_refused(51864, 2, 3, "201 weights of mel filters, expected 2 bands of 201");
    expect_refused(51864, 0, 3, "mel filters");
    expect_refused(51864, 1, 0, "the vocabulary is missing");
    expect_refused(32000, 1, 3, "a vocabulary of 32000 tokens");
}

RUN_TESTS(open_model, close_model)
