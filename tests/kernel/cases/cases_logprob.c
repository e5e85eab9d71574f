// logprob.comp against the logarithm of a softmax in double.
#include "ops/sample/logprob.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct logprob_case {
    uint32_t n_tokens, n_vocab;
    float low, high; // of the logits
} cases[] = {
    {1, 1, -3, 3},       {3, 2, -3, 3},      {2, 127, -30, 30}, {7, 500, -1e4F, 1e4F},
    {5, 49152, -10, 20}, {2, 151936, -1, 1}, {64, 1000, 5, 5},
};

static double ref_logprob(const float *logits, uint32_t n_vocab, uint32_t target)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n_vocab; i++) {
        largest = logits[i] > largest ? (double)logits[i] : largest;
    }
    for (uint32_t i = 0; i < n_vocab; i++) {
        sum += exp((double)logits[i] - largest);
    }
    return (double)logits[target] - largest - log(sum);
}

static void name_case(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u tokens of %u", cases[index].n_tokens, cases[index].n_vocab);
}

struct logprob_data {
    float *logits; // owned
    uint32_t *targets;
    double *want, *bound;
    uint32_t stride;
};

static void make_data(struct logprob_data *data, struct kt_run *run, const struct logprob_case *c)
{
    data->stride = (c->n_vocab + 31) / 32 * 32;
    data->logits = kt_alloc((size_t)c->n_tokens * data->stride, sizeof(float));
    data->targets = kt_alloc(c->n_tokens, sizeof(uint32_t));
    data->want = kt_alloc(c->n_tokens, sizeof(double));
    data->bound = kt_alloc(c->n_tokens, sizeof(double));
    for (size_t m = 0; m < c->n_tokens; m++) {
        float *row = data->logits + m * data->stride;
        kt_fill(run, row, c->n_vocab, c->low, c->high);
        for (uint32_t i = c->n_vocab; i < data->stride; i++) {
            row[i] = NAN; // not to be looked at
        }
        data->targets[m] = kt_index(run, c->n_vocab);
        data->want[m] = ref_logprob(row, c->n_vocab, data->targets[m]);
        data->bound[m] = 1e-5 + 2.4e-7 * fabs(data->want[m]);
    }
}

static void free_data(struct logprob_data *data)
{
    free(data->logits);
    free(data->targets);
    free(data->want);
    free(data->bound);
}

static bool run_case(struct kt_run *run, size_t index)
{
    const struct logprob_case *c = &cases[index];
    struct logprob_data data;
    make_data(&data, run, c);
    const size_t size = (size_t)c->n_tokens * data.stride * sizeof(float);
    const struct gi_rows logits = {kt_range(run, "logits", data.logits, size), data.stride, false};
    const struct gi_range targets =
        kt_range(run, "targets", data.targets, c->n_tokens * sizeof(uint32_t));
    const struct gi_range out = kt_range(run, "out", NULL, c->n_tokens * sizeof(float));
    gi_op_logprob(&run->recorder, &logits, c->n_vocab, 1, 0, targets, out);
    bool is_good = kt_seal(run) && kt_replay(run, 0, c->n_tokens) &&
                   kt_compare_f32(run, "out", &out, 0, data.want, data.bound, c->n_tokens) &&
                   kt_bench(run, 0, c->n_tokens, (uint64_t)c->n_tokens * c->n_vocab * 8);
    const float wrong = INFINITY;
    float found = 0;
    if (is_good && c->n_vocab > 100) { // a logit that is not finite makes the row's result none
        is_good = kt_write(run, &logits.range, 99 * sizeof(float), &wrong, sizeof(wrong)) &&
                  kt_replay(run, 0, c->n_tokens) && kt_read(run, &out, 0, &found, sizeof(found)) &&
                  (isnan(found) || kt_fail(run, "%g for an infinite logit", (double)found));
    }
    free_data(&data);
    return is_good;
}

const struct kt_suite kt_logprob = {"logprob", sizeof(cases) / sizeof(cases[0]), name_case,
                                    run_case};
