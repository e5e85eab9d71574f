// logit_rows.comp: logits of several rows, scaled and capped, and the largest of all partial
// results of each row.
#include "ops/sample/logit_rows.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct logit_case {
    uint32_t n_tokens, n_vocab;
    float scale, softcap;
    int bad_row; // which has an infinity; below 0: none
} cases[] = {
    {1, 1, 1, 0, -1},    {2, 33, 1, 0, 1},     {3, 2047, 0.125F, 0, -1},  {4, 2049, 1, 30, 2},
    {16, 500, 2, 30, 0}, {5, 49152, 1, 0, -1}, {2, 262144, 0.5F, 50, -1},
};

static void name_case(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u rows of %u", cases[index].n_tokens, cases[index].n_vocab);
}

static double ref_logit(const struct logit_case *c, float x)
{
    const double scaled = (double)c->scale * (double)x, cap = (double)c->softcap;
    return cap > 0 ? cap * tanh(scaled / cap) : scaled;
}

// Finds the largest partial result of a row as argmax.comp does, the lowest index on ties.
static bool find_largest(struct kt_run *run, const struct gi_range *range, uint32_t begin,
                         uint32_t n_partial, uint32_t *index)
{
    uint32_t *found = kt_alloc(n_partial, 2 * sizeof(*found));
    const bool is_good =
        kt_read(run, range, begin * sizeof(*found), found, n_partial * 2 * sizeof(*found));
    float largest = -FLT_MAX;
    *index = UINT32_MAX - 1;
    for (uint32_t i = 0; is_good && i < n_partial; i++) {
        float value;
        memcpy(&value, &found[2 * i], sizeof(value));
        if (found[2 * i + 1] != UINT32_MAX - 1 &&
            (value > largest || (value == largest && found[2 * i + 1] < *index))) {
            largest = value;
            *index = found[2 * i + 1];
        }
    }
    free(found);
    return is_good;
}

static bool check_row(struct kt_run *run, const struct logit_case *c, const struct gi_rows *rows,
                      const struct gi_logits *layout, const float *before, uint32_t row)
{
    double *want = kt_alloc(c->n_vocab, sizeof(*want)),
           *bound = kt_alloc(c->n_vocab, sizeof(*bound));
    uint32_t largest = 0, found = 0;
    for (uint32_t i = 0; i < c->n_vocab; i++) {
        want[i] = ref_logit(c, before[i]);
        bound[i] = (c->softcap > 0 ? 1e-4 : 0) + 4 * FLT_EPSILON * fabs(want[i]);
        largest = before[i] > before[largest] ? i : largest;
    }
    bool is_good = find_largest(run, &rows->range, row * rows->stride + layout->partial,
                                layout->n_partial, &found);
    if (is_good && (int)row == c->bad_row) {
        is_good = found == UINT32_MAX || kt_fail(run, "row %u hides its infinity", row);
    } else if (is_good) {
        is_good = kt_compare_f32(run, "logits", &rows->range, row * rows->stride * sizeof(float),
                                 want, bound, c->n_vocab) &&
                  (before[found < c->n_vocab ? found : 0] == before[largest] ||
                   kt_fail(run, "row %u: %u is the largest, not %u", row, largest, found));
    }
    free(want);
    free(bound);
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    const struct logit_case *c = &cases[index];
    struct gi_logits layout = {0};
    const uint32_t stride =
        (uint32_t)((gi_logits_layout(&layout, c->n_vocab) + 255) / 256 * 256 / sizeof(float));
    const size_t size = (size_t)c->n_tokens * stride * sizeof(float);
    float *data = kt_alloc((size_t)c->n_tokens * stride, sizeof(float));
    for (size_t m = 0; m < c->n_tokens; m++) {
        kt_fill(run, data + m * stride, c->n_vocab, -20, 20);
        data[m * stride + kt_index(run, c->n_vocab)] = 21;
        for (uint32_t i = c->n_vocab; i < stride; i++) {
            data[m * stride + i] = NAN; // not to be looked at
        }
    }
    if (c->bad_row >= 0) {
        data[(size_t)c->bad_row * stride + c->n_vocab / 2] = -INFINITY;
    }
    const struct gi_rows rows = {kt_range(run, "logits", data, size), stride, false};
    gi_op_logit_rows(&run->recorder, "logit_rows", &rows, c->scale, c->softcap, &layout);
    bool is_good = kt_seal(run) && kt_replay(run, 0, c->n_tokens);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = check_row(run, c, &rows, &layout, data + (size_t)m * stride, m);
    }
    free(data);
    return is_good && kt_bench(run, 0, c->n_tokens, (uint64_t)c->n_tokens * c->n_vocab * 4);
}

const struct kt_suite kt_logit_rows = {"logit_rows", sizeof(cases) / sizeof(cases[0]), name_case,
                                       run_case};
