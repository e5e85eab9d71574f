// Logits of several rows, scaled and capped, with the partial results of each row, and
// log-probabilities of given tokens.
#include "ops/sample/logit_rows.h"
#include "ops/sample/logprob.h"
#include "tests/kernel/fixture/kernel_axes.h"

#include <math.h>
#include <stdlib.h>

enum values { VALUES_NEAR, VALUES_FAR, VALUES_SMALL, VALUES_EQUAL, VALUES_UNSOUND, N_VALUES };
static const char *const value_names[] = {"near", "far", "small", "equal", "one infinite"};
static const float limits[] = {20, 1e4f, 1e-3f, 5, 20};
static const char *const rule_names[] = {"as they are", "scaled", "scaled and capped"};
static const float scales[] = {1, 0.125f, 2}, softcaps[] = {0, 0, 30};

// Returns rows of logits; NaN after them, which no kernel may look at.
static struct gi_rows random_logits(struct kt_run *run, uint32_t n_tokens, uint32_t n_vocab,
                                    uint32_t stride, enum values values)
{
    float *data = kt_alloc((size_t)n_tokens * stride, sizeof(*data));
    for (size_t i = 0; i < (size_t)n_tokens * stride; i++) {
        data[i] = i % stride >= n_vocab    ? NAN
                  : values == VALUES_EQUAL ? 5
                                           : kt_uniform(run, -limits[values], limits[values]);
    }
    if (values == VALUES_UNSOUND) {
        data[(size_t)(n_tokens / 2) * stride + n_vocab / 2] = -INFINITY;
    }
    const struct gi_rows rows = {
        kt_range(run, "logits", data, (size_t)n_tokens * stride * sizeof(*data)), stride, false};
    free(data);
    return rows;
}

static uint64_t record_logit_rows(struct kt_run *run, const uint32_t *v)
{
    struct gi_logits layout = {0};
    const uint32_t n_vocab = v[0], n_tokens = v[1];
    const uint64_t size = (gi_logits_layout(&layout, n_vocab) + 255) / 256 * 256;
    const struct gi_rows rows =
        random_logits(run, n_tokens, n_vocab, (uint32_t)(size / sizeof(float)), (enum values)v[3]);
    gi_op_logit_rows(&run->recorder, "logit_rows", &rows, scales[v[2]], softcaps[v[2]], &layout);
    return 4ull * n_tokens * n_vocab;
}

static uint64_t record_logprob(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_vocab = v[0], n_tokens = v[1];
    const struct gi_rows logits =
        random_logits(run, n_tokens, n_vocab, (n_vocab + 31) / 32 * 32, (enum values)v[3]);
    const struct gi_range targets = kt_range(run, "targets", NULL, n_tokens * sizeof(uint32_t));
    const struct gi_range out = kt_range(run, "out", NULL, n_tokens * sizeof(float));
    gi_op_logprob(&run->recorder, &logits, n_vocab, scales[v[2]], softcaps[v[2]], targets, out);
    return 8ull * n_tokens * n_vocab;
}

static const struct kt_axis logit_axes[] = {
    KT_NUMBERS("vocabulary", 1, 33, 2049, 49152, 151936), KT_NUMBERS("tokens", 1, 2, 7),
    KT_NAMED("rule", 3, rule_names), KT_NAMED("values", N_VALUES, value_names)};
KT_DESCRIBE(logit_rows, logit_axes);
KT_DESCRIBE(logprob, logit_axes);
