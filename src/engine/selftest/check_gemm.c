// Checks that products of a batch that are added to rows miss none of them.
#include "base/round.h"
#include "engine/selftest/test_case.h"
#include "glsl/gemm/gemm_params.h"

#include <string.h>

// Fills the rows that a product is added to with numbers so small that every result changes them.
// The rows of tokens that are compared get larger ones. Returns NULL with has_failed.
static float *fill_results(struct gi_test *test)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t n_token = test->n_tokens;
    float *rows = gi_test_rows(test, 0, params->y_begin, params->y_stride, params->n_rows);
    for (uint32_t token = 0; rows && token < n_token; token++) {
        const bool is_compared = token == 0 || token == n_token / 2 || token == n_token - 1;
        for (uint32_t i = 0; i < params->n_rows; i++) {
            const uint32_t bits = (token * params->n_rows + i + 1) * 2654435761u;
            const uint32_t word = (bits & 0x807FFFFFu) | (is_compared ? 0x3F000000u : 0x35000000u);
            memcpy(&rows[(size_t)token * params->y_stride + i], &word, sizeof(word));
        }
    }
    if (rows) {
        gi_test_write(test, 0, params->y_begin, rows,
                      (size_t)(n_token - 1) * params->y_stride + params->n_rows);
    }
    return test->has_failed ? NULL : rows;
}

// Returns the number of results that no run changed, in rows of weights that changed another; *lost
// is the index of the first.
static uint32_t count_lost(struct gi_test *test, const uint8_t *is_changed, uint64_t *lost)
{
    const uint32_t n_row = ((const struct gi_gemm_params *)(const void *)test->params)->n_rows;
    const uint64_t n = (uint64_t)test->n_tokens * n_row;
    uint8_t *is_row_used = gi_test_memory(test, n_row, 1);
    uint32_t n_lost = 0;
    for (uint64_t i = 0; is_row_used && i < n; i++) {
        is_row_used[i % n_row] |= is_changed[i];
    }
    for (uint64_t i = n; is_row_used && i-- > 0;) {
        const bool is_lost = is_row_used[i % n_row] && !is_changed[i];
        *lost = is_lost ? i : *lost;
        n_lost += is_lost;
    }
    return n_lost;
}

// Compares a product of inputs of a seed, and notes results that changed.
static void run_added(struct gi_test *test, uint32_t seed, uint8_t *is_changed)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t n_memory = test->n_memory;
    const float *before = fill_results(test);
    gi_test_compare(test, seed);
    const float *after = gi_test_rows(test, 0, params->y_begin, params->y_stride, params->n_rows);
    for (uint64_t i = 0; before && after && i < (uint64_t)test->n_tokens * params->n_rows; i++) {
        const uint64_t at = i / params->n_rows * params->y_stride + i % params->n_rows;
        is_changed[i] |= before[at] != after[at];
    }
    gi_test_rewind(test, n_memory);
}

// A result that was added is missing if nothing changed on two inputs: in f16 a sum may be 0 on
// one, and a single sum on both.
static void check_added(struct gi_test *test)
{
    enum { SEED = 1, OTHER_SEED = 50021 };
    const struct gi_gemm_params *params = (const void *)test->params;
    uint8_t *is_changed = gi_test_memory(test, (size_t)test->n_tokens * params->n_rows, 1);
    uint64_t lost = 0;
    if (!is_changed) {
        return;
    }
    run_added(test, SEED, is_changed);
    if (!test->has_failed && count_lost(test, is_changed, &lost) > 1) {
        run_added(test, OTHER_SEED, is_changed);
        if (count_lost(test, is_changed, &lost) > 1) {
            gi_test_fail(test, "the product is missing", (uint32_t)(lost % params->n_rows),
                         (uint32_t)(lost / params->n_rows));
        }
    }
}

// Writes floats of 0.5 to 2 over packed rows, which may be infinite as f32: the entries after this
// one read them so.
static void overwrite_packed(struct gi_test *test)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    const uint32_t width = (uint32_t)gi_round_up(test->sample->n_cols, GI_QUANT_BLOCK);
    const uint32_t n = width < params->x_stride ? width : params->x_stride;
    uint32_t *words = gi_test_memory(test, n, sizeof(*words));
    for (uint32_t i = 0; words && i < n; i++) {
        words[i] = (i * 2654435761u & 0x80FFFFFFu) | 0x3F000000u;
    }
    for (uint32_t token = 0; token < test->n_tokens; token++) {
        gi_test_write(test, 1, (uint64_t)token * params->x_stride, words, n);
    }
}

void gi_check_gemm(struct gi_test *test)
{
    const struct gi_gemm_params *params = (const void *)test->params;
    if (params->is_added && !gi_test_define(test, "EXPERTS")) {
        check_added(test);
    } else {
        gi_test_compare(test, 1);
    }
    if (gi_test_is_packed(test->key)) {
        overwrite_packed(test);
    }
}
