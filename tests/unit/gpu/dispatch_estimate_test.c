// The work of attention, by the keys that its tokens see.
#include "gpu/dispatch/dispatch_estimate.h"
#include "tests/unit/cmocka_test.h"

struct row {
    uint32_t window, after, n_key; // of the dispatch
    uint32_t n_past, n_tokens;
    uint32_t n_pairs; // of a token and a key that it sees
    uint32_t n_read;  // keys
};

static const struct row rows[] = {
    {0, 0, 0, 7, 1, 8, 8},                   // a step
    {0, 0, 0, 0, 4, 1 + 2 + 3 + 4, 4},       // a prompt
    {0, 0, 0, 10, 4, 11 + 12 + 13 + 14, 14}, // after other tokens
    {4, 0, 0, 10, 2, 2 * 4, 5},              // in a window
    {0, 1 << 24, 0, 0, 4, 16, 4},            // an encoder's tokens see each other
    {0, 0, 9, 5, 2, 2 * 9, 9},               // keys of another text
};

TEST(attention_counts_the_keys_that_tokens_see)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const struct gi_dispatch dispatch = {.key_bytes = 16,
                                             .key_flops = 4,
                                             .window = row->window,
                                             .after = row->after,
                                             .n_key = row->n_key};
        assert_int_equal(gi_dispatch_flops(&dispatch, row->n_past, row->n_tokens),
                         4 * row->n_pairs);
        assert_int_equal(gi_dispatch_bytes(&dispatch, row->n_past, row->n_tokens),
                         16 * row->n_read);
    }
}

RUN_TESTS(NULL, NULL)
