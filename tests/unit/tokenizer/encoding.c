#include "tests/unit/tokenizer/encoding.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

enum { MAX_ALLOCATIONS = 1000 };

struct gi_tokenizer *must_create(const struct gi_vocab *vocab)
{
    struct glinfer_error err;
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(vocab, &err);
    must(tokenizer, &err);
    return tokenizer;
}

void expect_ids(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags,
                const int32_t *expected, size_t n_expected)
{
    struct gi_ids ids = {0};
    struct glinfer_error err;
    assert_true(gi_tokenizer_encode(tokenizer, text, flags & ADD_SPECIAL, flags & PARSE_SPECIAL,
                                    &ids, &err));
    assert_int_equal(ids.count, n_expected);
    assert_memory_equal(ids.data, expected, n_expected * sizeof(*expected));
    gi_ids_finish(&ids);
}

void expect_bytes(const struct gi_tokenizer *tokenizer, int32_t id, const char *expected)
{
    struct gi_text bytes = gi_tokenizer_bytes(tokenizer, id);
    assert_non_null(bytes.data);
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

struct gi_tokenizer *create_in_the_end(const struct gi_vocab *vocab)
{
    struct gi_tokenizer *tokenizer = NULL;
    for (long n = 0; !tokenizer; n++) {
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_allocations_after(n);
        tokenizer = gi_tokenizer_create(vocab, &err);
        fail_allocations_after(-1);
        assert_int_equal(err.status, tokenizer ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        assert_true(n < MAX_ALLOCATIONS);
    }
    return tokenizer;
}

void encode_in_the_end(const struct gi_tokenizer *tokenizer, struct gi_text text, int flags)
{
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        struct gi_ids ids = {0};
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_allocations_after(n);
        is_done = gi_tokenizer_encode(tokenizer, text, flags & ADD_SPECIAL, flags & PARSE_SPECIAL,
                                      &ids, &err);
        fail_allocations_after(-1);
        assert_int_equal(err.status, is_done ? GLINFER_STATUS_OK : GLINFER_STATUS_NO_MEMORY);
        assert_true(is_done ? ids.count > 0 : ids.count == 0);
        gi_ids_finish(&ids);
        assert_true(n < MAX_ALLOCATIONS);
    }
}
