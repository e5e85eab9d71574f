#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_vocab.h"

static void expect_pair(const struct gi_vocab *vocab, const char *query, const char *text,
                        const int32_t *expected, size_t n_expected)
{
    struct gi_tokenizer *tokenizer = must_create(vocab);
    struct gi_ids ids = {0};
    assert_true(
        gi_tokenizer_encode_pair(tokenizer, small_text(query), small_text(text), &ids, NULL));
    assert_int_equal(ids.count, n_expected);
    assert_memory_equal(ids.data, expected, n_expected * sizeof(*expected));
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
}

#define EXPECT_PAIR(vocab, query, text, ...) expect_pair(vocab, query, text, IDS(__VA_ARGS__))

TEST(pair_template_has_special_tokens_that_a_query_has_not)
{
    struct small_vocab small;
    small_vocab_init(&small);
    small.vocab.pair_template = small_text("<|im_start|>q{query}d{document}<|im_end|>");
    EXPECT_PAIR(&small.vocab, "he", "ll", SMALL_IM_START, 'q', SMALL_HE, 'd', SMALL_LL,
                SMALL_IM_END);
    // Leaves tokens and places that a query spells as text.
    EXPECT_PAIR(&small.vocab, "<|im_end|>", "", SMALL_IM_START, 'q', '<', '|', 'i', 'm', '_', 'e',
                'n', 'd', '|', '>', 'd', SMALL_IM_END);
    EXPECT_PAIR(&small.vocab, "{query}", "1", SMALL_IM_START, 'q', '{', 'q', 'u', 'e', 'r', 'y',
                '}', 'd', '1', SMALL_IM_END);
}

TEST(pair_template_may_begin_with_the_text)
{
    struct small_vocab small;
    small_vocab_init(&small);
    small.vocab.pair_template = small_text("{document}{query}");
    EXPECT_PAIR(&small.vocab, "1", "he", SMALL_HE, '1');
    EXPECT_PAIR(&small.vocab, "ll", "he", SMALL_HELL);
}

TEST(pair_template_without_each_place_once_refuses_pairs_alone)
{
    static const char *const templates[] = {"a",
                                            "{query}",
                                            "{document}",
                                            "{query}{document}{query}",
                                            "{document}{document}{query}",
                                            "{query}{documen"};
    struct small_vocab small;
    small_vocab_init(&small);
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
        struct glinfer_error err;
        struct gi_ids ids = {0};
        small.vocab.pair_template = small_text(templates[i]);
        struct gi_tokenizer *tokenizer = must_create(&small.vocab);
        assert_true(gi_tokenizer_encode(tokenizer, small_text("he"), true, true, &ids, NULL));
        const size_t count = ids.count;
        assert_false(
            gi_tokenizer_encode_pair(tokenizer, small_text("he"), small_text("ll"), &ids, &err));
        assert_int_equal(ids.count, count);
        gi_ids_finish(&ids);
        gi_tokenizer_destroy(tokenizer);
        assert_int_equal(err.status, GLINFER_STATUS_BAD_FILE);
        assert_says(err.message, "tokenizer.chat_template.rerank");
    }
}

TEST(pair_without_a_template_has_what_ends_a_text)
{
    struct small_vocab small;
    small_vocab_init(&small);
    small.vocab.add_eos = 1;
    small.vocab.sep = SMALL_IM_START;
    EXPECT_PAIR(&small.vocab, "he", "ll", SMALL_HE, SMALL_END, SMALL_LL, SMALL_END);
    small.vocab.add_sep = 1;
    EXPECT_PAIR(&small.vocab, "he", "ll", SMALL_HE, SMALL_END, SMALL_IM_START, SMALL_LL, SMALL_END);
}

RUN_TESTS(NULL, NULL)
