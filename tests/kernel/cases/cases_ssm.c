// Mamba-2: decode steps and batches, from a state that is not zero; the norms behind it.
#include "ops/ssm/ssm.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/recurrent/ref_ssm.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDINGS 100 // of results; a state of many tokens has those of each

static const struct ssm_case {
    uint32_t n_head, dim, n_group, state_dim, n_taps, n_tokens, n_past;
} cases[] = {
    {2, 16, 1, 32, 4, 1, 0},      {4, 32, 2, 128, 4, 1, 5},  {3, 64, 1, 256, 2, 1, 9},
    {2, 16, 2, 32, 4, 2, 1},      {4, 32, 2, 128, 4, 33, 6}, {3, 64, 1, 256, 2, 9, 0},
    {48, 64, 1, 128, 4, 130, 11},
};

static const struct ssm_case benches[] = {
    {48, 64, 1, 128, 4, 1, 100},
    {48, 64, 1, 256, 4, 1, 100},
    {48, 64, 1, 128, 4, 512, 100},
    {48, 64, 1, 256, 4, 512, 100},
};

static void write_name(const struct ssm_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u heads of %u, %u groups of %u, %u taps, %u tokens behind %u", c->n_head,
             c->dim, c->n_group, c->state_dim, c->n_taps, c->n_tokens, c->n_past);
}

static void name_case(size_t index, char *text, size_t size)
{
    write_name(&cases[index], text, size);
}

static void name_bench(size_t index, char *text, size_t size)
{
    write_name(&benches[index], text, size);
}

struct ssm_run {
    const struct ssm_case *c;
    struct gi_ssm ssm;
    uint32_t n_vector, n_state, width;
    float *vectors, *x, *state, *past;
    struct gi_vectors range;
    struct gi_range memory;
    struct gi_rows x_rows, mixed, out;
    double *matrix, *want, *bound;
};

static void lay_out(struct ssm_run *s, const struct ssm_case *c)
{
    s->c = c;
    s->width = c->n_head * c->dim;
    s->ssm = (struct gi_ssm){
        .n_head = c->n_head,
        .dim = c->dim,
        .n_group = c->n_group,
        .state_dim = c->state_dim,
        .n_taps = c->n_taps,
    };
    const uint32_t n_channel = gi_ssm_channels(&s->ssm);
    s->ssm.channels = kt_pad32(s->width);
    s->ssm.dt = s->ssm.channels + n_channel + 4;
    s->ssm.n_column = s->ssm.dt + kt_pad32(c->n_head) + 28;
    s->ssm.taps = 4;
    s->ssm.taps_bias = s->ssm.taps + n_channel * c->n_taps;
    s->ssm.dt_bias = s->ssm.taps_bias + n_channel;
    s->ssm.decay_rate = s->ssm.dt_bias + c->n_head;
    s->ssm.skip = s->ssm.decay_rate + c->n_head;
    s->n_vector = kt_pad32(s->ssm.skip + c->n_head);
    s->n_state = gi_ssm_state_size(&s->ssm);
}

// Row `back` before the first token, from 1; zero before the text begins.
static void set_past(struct ssm_run *s)
{
    const uint32_t n_channel = gi_ssm_channels(&s->ssm), n_past = s->c->n_past;
    s->past = kt_alloc((size_t)s->c->n_taps * n_channel, sizeof(float));
    for (uint32_t back = 1; back < s->c->n_taps; back++) {
        const uint32_t row = (n_past + s->c->n_taps - back) % s->c->n_taps;
        for (uint32_t i = 0; i < n_channel; i++) {
            s->past[(back - 1) * n_channel + i] =
                back <= n_past ? s->state[row * n_channel + i] : 0;
        }
    }
}

static void fill(struct ssm_run *s, struct kt_run *run)
{
    const struct ssm_case *c = s->c;
    const size_t n_x = (size_t)c->n_tokens * s->ssm.n_column;
    s->vectors = kt_alloc(s->n_vector, sizeof(float));
    s->x = kt_alloc(n_x, sizeof(float));
    s->state = kt_alloc(s->n_state, sizeof(float));
    kt_fill(run, s->vectors, s->n_vector, -1, 1);
    for (uint32_t i = 0; i < c->n_head; i++) {
        s->vectors[s->ssm.decay_rate + i] = -fabsf(s->vectors[s->ssm.decay_rate + i]);
    }
    kt_fill(run, s->x, n_x, -2, 2);
    kt_fill(run, s->state, s->n_state, -1, 1);
    for (uint32_t i = 0; c->n_past == 0 && i < s->n_state; i++) {
        s->state[i] = NAN; // as in memory that nobody has written
    }
    s->range = kt_vectors(run, s->vectors, s->n_vector, 0);
    s->memory = kt_range(run, "state", s->state, s->n_state * sizeof(float));
    s->x_rows =
        (struct gi_rows){kt_range(run, "x", s->x, n_x * sizeof(float)), s->ssm.n_column, false};
    s->mixed = kt_rows(run, "mixed", NULL, c->n_tokens, kt_pad32(gi_ssm_mixed_size(&s->ssm)));
    s->out = kt_rows(run, "out", NULL, c->n_tokens, kt_pad32(s->width));
}

static void work_out(struct ssm_run *s)
{
    const struct ssm_case *c = s->c;
    const struct gi_ssm *ssm = &s->ssm;
    const size_t n_matrix = (size_t)s->width * c->state_dim, n_out = (size_t)c->n_tokens * s->width;
    s->matrix = kt_alloc(n_matrix, sizeof(double));
    s->want = kt_alloc(n_out, sizeof(double));
    s->bound = kt_alloc(n_out, sizeof(double));
    for (size_t i = 0; c->n_past > 0 && i < n_matrix; i++) { // zero where the text begins
        s->matrix[i] = s->state[gi_ssm_matrix(ssm) + i];
    }
    set_past(s);
    const struct ref_ssm ref = {
        .n_tokens = c->n_tokens,
        .n_head = c->n_head,
        .dim = c->dim,
        .n_group = c->n_group,
        .state_dim = c->state_dim,
        .n_taps = c->n_taps,
        .n_channel = gi_ssm_channels(ssm),
        .n_column = ssm->n_column,
        .channels = ssm->channels,
        .dt = ssm->dt,
        .x = s->x,
        .past = s->past,
        .taps = s->vectors + ssm->taps,
        .taps_bias = s->vectors + ssm->taps_bias,
        .dt_bias = s->vectors + ssm->dt_bias,
        .decay_rate = s->vectors + ssm->decay_rate,
        .skip = s->vectors + ssm->skip,
    };
    ref_ssm(&ref, s->matrix, s->want, s->bound);
    for (size_t i = 0; i < n_out; i++) {
        s->bound[i] = ROUNDINGS * (double)FLT_EPSILON * (s->bound[i] + 1e-2);
    }
}

static void finish(struct ssm_run *s)
{
    free(s->vectors);
    free(s->x);
    free(s->state);
    free(s->past);
    free(s->matrix);
    free(s->want);
    free(s->bound);
}

// The state behind the tokens: the matrices, and the rows of the last ones.
static bool check_state(struct kt_run *run, struct ssm_run *s)
{
    const struct ssm_case *c = s->c;
    const uint32_t n_channel = gi_ssm_channels(&s->ssm), begin = gi_ssm_matrix(&s->ssm);
    const uint32_t n_kept = c->n_tokens < c->n_taps - 1 ? c->n_tokens : c->n_taps - 1;
    if (!kt_read(run, &s->memory, 0, s->state, s->n_state * sizeof(float))) {
        return false;
    }
    for (uint32_t i = 0; i < s->width * c->state_dim; i++) {
        const double found = s->state[begin + i];
        if (!(fabs(found - s->matrix[i]) <=
              ROUNDINGS * (double)FLT_EPSILON * (1 + fabs(s->matrix[i])))) {
            return kt_fail(run, "matrix[%u] is %.9g, want %.9g", i, found, s->matrix[i]);
        }
    }
    for (uint32_t m = c->n_tokens - n_kept; m < c->n_tokens; m++) {
        const float *row = s->state + (c->n_past + m) % c->n_taps * n_channel;
        for (uint32_t i = 0; i < n_channel; i++) {
            if (row[i] != s->x[m * s->ssm.n_column + s->ssm.channels + i]) {
                return kt_fail(run, "the ring of token %u has another channel %u", m, i);
            }
        }
    }
    return true;
}

static void record(struct kt_run *run, struct ssm_run *s, bool is_step)
{
    if (is_step) {
        gi_op_ssm_step(&run->recorder, &s->ssm, s->x_rows.range, &s->range, s->memory,
                       s->out.range);
    } else {
        gi_op_ssm_batch(&run->recorder, &s->ssm, &s->x_rows, &s->range, s->memory, &s->mixed,
                        &s->out);
    }
}

static bool run_shape(struct kt_run *run, const struct ssm_case *c, bool is_step)
{
    struct ssm_run s = {0};
    lay_out(&s, c);
    fill(&s, run);
    record(run, &s, is_step);
    bool is_good = kt_seal(run);
    is_good = is_good && kt_replay(run, c->n_past, c->n_tokens);
    if (is_good && !run->is_bench) {
        work_out(&s);
        is_good = kt_compare_rows(run, "out", &s.out, c->n_tokens, 0, s.width, s.want, s.bound) &&
                  check_state(run, &s);
    }
    is_good = is_good && kt_bench(run, c->n_past, c->n_tokens,
                                  2 * (uint64_t)s.n_state * sizeof(float) +
                                      (uint64_t)c->n_tokens * 3 * s.ssm.n_column * sizeof(float));
    finish(&s);
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    return run_shape(run, &cases[index], cases[index].n_tokens == 1);
}

static bool run_bench(struct kt_run *run, size_t index)
{
    return run_shape(run, &benches[index], benches[index].n_tokens == 1);
}

const struct kt_suite kt_ssm = {"ssm", COUNT(cases), name_case, run_case};
const struct kt_suite kt_ssm_bench = {"bench_ssm", COUNT(benches), name_bench, run_bench};

//-- norms -----------------------------------------------------------------------------------------

static const struct norm_case {
    uint32_t n_group, width, n_tokens;
} norm_cases[] = {
    {1, 4, 1},
    {1, 1536, 1},
    {3, 132, 5},
};

static void name_norm(size_t index, char *text, size_t size)
{
    const struct norm_case *c = &norm_cases[index];
    snprintf(text, size, "%u groups of %u, %u tokens", c->n_group, c->width, c->n_tokens);
}

static bool run_norm(struct kt_run *run, size_t index)
{
    const struct norm_case *c = &norm_cases[index];
    const uint32_t n_row = c->n_group * c->width, stride = kt_pad32(n_row) + 32;
    const size_t n_y = (size_t)c->n_tokens * stride, n_want = (size_t)c->n_tokens * n_row;
    float *y = kt_alloc(n_y, sizeof(float)), *gamma = kt_alloc(n_row, sizeof(float));
    double *want = kt_alloc(n_want, sizeof(double)), *bound = kt_alloc(n_want, sizeof(double));
    kt_fill(run, y, n_y, -2, 2);
    kt_fill(run, gamma, n_row, -1, 1);
    for (size_t i = 0; i < n_want; i++) {
        want[i] = y[i / n_row * stride + i % n_row];
    }
    ref_ssm_norm(c->n_tokens, c->n_group, c->width, gamma, 1e-5, want);
    for (size_t i = 0; i < n_want; i++) {
        bound[i] = 32 * (double)FLT_EPSILON * fabs(want[i]);
    }
    const struct gi_rows rows = {kt_range(run, "y", y, n_y * sizeof(float)), stride, false};
    const struct gi_vectors vectors = kt_vectors(run, gamma, n_row, 0);
    gi_op_ssm_norm(&run->recorder, c->n_tokens > 1, c->n_group, c->width, &vectors, 0, 1e-5f,
                   &rows);
    const bool is_good = kt_seal(run) && kt_replay(run, 5, c->n_tokens) &&
                         kt_compare_rows(run, "y", &rows, c->n_tokens, 0, n_row, want, bound);
    free(y);
    free(gamma);
    free(want);
    free(bound);
    return is_good;
}

const struct kt_suite kt_ssm_norm = {"ssm_norm", COUNT(norm_cases), name_norm, run_norm};
