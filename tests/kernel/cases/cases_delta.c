// The gated delta rule: decode steps and batches, from a state that is not zero; gates of
// attention's output.
#include "ops/delta/delta.h"
#include "ops/gemm/batch.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/recurrent/ref_delta.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDINGS 300

static const struct delta_case {
    uint32_t n_head, n_k_head, dim, n_taps, n_tokens, n_past;
    bool has_neighbours;
} cases[] = {
    {2, 2, 16, 4, 1, 0, false},  {4, 2, 32, 4, 1, 5, false},     {2, 1, 64, 2, 1, 6, false},
    {3, 3, 128, 4, 1, 9, false}, {2, 2, 16, 4, 2, 1, false},     {4, 2, 32, 4, 33, 6, false},
    {2, 1, 64, 2, 9, 0, false},  {3, 3, 128, 4, 130, 11, false}, {16, 16, 128, 4, 300, 0, false},
    {6, 2, 32, 4, 1, 5, true},   {4, 2, 16, 4, 9, 6, true},
};

static const struct delta_case benches[] = {
    {16, 16, 128, 4, 1, 100, false},
    {32, 16, 128, 4, 1, 100, false},
    {16, 16, 128, 4, 512, 100, false},
};

static void write_name(const struct delta_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u of %u heads of %u%s, %u taps, %u tokens behind %u", c->n_head,
             c->n_k_head, c->dim, c->has_neighbours ? " side by side" : "", c->n_taps, c->n_tokens,
             c->n_past);
}

static void name_case(size_t index, char *text, size_t size)
{
    write_name(&cases[index], text, size);
}

static void name_bench(size_t index, char *text, size_t size)
{
    write_name(&benches[index], text, size);
}

struct delta_run {
    const struct delta_case *c;
    struct gi_delta delta;
    uint32_t n_vector, n_state, width;
    float *vectors, *x, *state, *past;
    struct gi_vectors range;
    struct gi_range memory;
    struct gi_rows x_rows, mixed, o, out;
    double *matrix, *want, *bound;
};

static void lay_out(struct delta_run *s, const struct delta_case *c)
{
    s->c = c;
    s->width = c->n_head * c->dim;
    s->delta = (struct gi_delta){.n_head = c->n_head,
                                 .n_k_head = c->n_k_head,
                                 .dim = c->dim,
                                 .n_neighbour = c->has_neighbours ? c->n_head / c->n_k_head : 0,
                                 .n_taps = c->n_taps,
                                 .eps = 1e-6f};
    const uint32_t n_channel = gi_delta_channels(&s->delta);
    s->delta.z = n_channel;
    s->delta.rate = n_channel + s->width;
    s->delta.decay = s->delta.rate + kt_pad32(c->n_head);
    s->delta.n_column = s->delta.decay + kt_pad32(c->n_head);
    s->delta.gamma = n_channel * c->n_taps;
    s->delta.decay_bias = s->delta.gamma + c->dim;
    s->delta.decay_rate = s->delta.decay_bias + c->n_head;
    s->n_vector = s->delta.decay_rate + c->n_head;
    s->n_state = gi_delta_state_size(&s->delta);
}

// Row `back` before the first token, from 1; zero before the text begins.
static void set_past(struct delta_run *s)
{
    const uint32_t n_channel = gi_delta_channels(&s->delta), n_past = s->c->n_past;
    s->past = kt_alloc((size_t)s->c->n_taps * n_channel, sizeof(float));
    for (uint32_t back = 1; back < s->c->n_taps; back++) {
        const uint32_t row = (n_past + s->c->n_taps - back) % s->c->n_taps;
        for (uint32_t i = 0; i < n_channel; i++) {
            s->past[(back - 1) * n_channel + i] =
                back <= n_past ? s->state[row * n_channel + i] : 0;
        }
    }
}

static void fill(struct delta_run *s, struct kt_run *run)
{
    const struct delta_case *c = s->c;
    const size_t n_x = (size_t)c->n_tokens * s->delta.n_column;
    s->vectors = kt_alloc(s->n_vector, sizeof(float));
    s->x = kt_alloc(n_x, sizeof(float));
    s->state = kt_alloc(s->n_state, sizeof(float));
    kt_fill(run, s->vectors, s->n_vector, -1, 1);
    for (uint32_t i = 0; i < c->n_head; i++) {
        s->vectors[s->delta.decay_rate + i] = -fabsf(s->vectors[s->delta.decay_rate + i]);
    }
    kt_fill(run, s->x, n_x, -2, 2);
    kt_fill(run, s->state, s->n_state, -1, 1);
    for (uint32_t i = 0; c->n_past == 0 && i < s->n_state; i++) {
        s->state[i] = NAN; // as in memory that nobody has written
    }
    s->range = kt_vectors(run, s->vectors, s->n_vector, 0);
    s->memory = kt_range(run, "state", s->state, s->n_state * sizeof(float));
    s->x_rows =
        (struct gi_rows){kt_range(run, "x", s->x, n_x * sizeof(float)), s->delta.n_column, false};
    s->mixed = kt_rows(run, "mixed", NULL, c->n_tokens, kt_pad32(gi_delta_mixed_size(&s->delta)));
    s->o = kt_rows(run, "o", NULL, c->n_tokens, kt_pad32(s->width));
    s->out = kt_rows(run, "out", NULL, c->n_tokens, kt_pad32(s->width));
}

static void work_out(struct delta_run *s)
{
    const struct delta_case *c = s->c;
    const struct gi_delta *delta = &s->delta;
    const size_t n_matrix = (size_t)s->width * c->dim, n_out = (size_t)c->n_tokens * s->width;
    s->matrix = kt_alloc(n_matrix, sizeof(double));
    s->want = kt_alloc(n_out, sizeof(double));
    s->bound = kt_alloc(n_out, sizeof(double));
    for (size_t i = 0; c->n_past > 0 && i < n_matrix; i++) { // zero where the text begins
        s->matrix[i] = s->state[gi_delta_matrix(delta) + i];
    }
    set_past(s);
    const struct ref_delta ref = {
        .n_tokens = c->n_tokens,
        .n_head = c->n_head,
        .n_k_head = c->n_k_head,
        .dim = c->dim,
        .n_taps = c->n_taps,
        .n_neighbour = delta->n_neighbour,
        .n_channel = gi_delta_channels(delta),
        .n_column = delta->n_column,
        .z = delta->z,
        .rate = delta->rate,
        .decay = delta->decay,
        .x = s->x,
        .past = s->past,
        .taps = s->vectors + delta->taps,
        .gamma = s->vectors + delta->gamma,
        .decay_bias = s->vectors + delta->decay_bias,
        .decay_rate = s->vectors + delta->decay_rate,
        .eps = (double)delta->eps,
    };
    ref_delta(&ref, s->matrix, s->want, s->bound);
    for (size_t i = 0; i < n_out; i++) {
        s->bound[i] *= ROUNDINGS * (double)FLT_EPSILON;
    }
}

static void finish(struct delta_run *s)
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
static bool check_state(struct kt_run *run, struct delta_run *s)
{
    const struct delta_case *c = s->c;
    const uint32_t n_channel = gi_delta_channels(&s->delta), begin = gi_delta_matrix(&s->delta);
    const uint32_t n_kept = c->n_tokens < c->n_taps - 1 ? c->n_tokens : c->n_taps - 1;
    if (!kt_read(run, &s->memory, 0, s->state, s->n_state * sizeof(float))) {
        return false;
    }
    for (uint32_t i = 0; i < s->width * c->dim; i++) {
        const double found = s->state[begin + i];
        if (!(fabs(found - s->matrix[i]) <= ROUNDINGS * (double)FLT_EPSILON)) {
            return kt_fail(run, "matrix[%u] is %.9g, want %.9g", i, found, s->matrix[i]);
        }
    }
    for (uint32_t m = c->n_tokens - n_kept; m < c->n_tokens; m++) {
        const float *row = s->state + (c->n_past + m) % c->n_taps * n_channel;
        for (uint32_t i = 0; i < n_channel; i++) {
            if (row[i] != s->x[m * s->delta.n_column + i]) {
                return kt_fail(run, "the ring of token %u has another channel %u", m, i);
            }
        }
    }
    return true;
}

static void record(struct kt_run *run, struct delta_run *s, bool is_step)
{
    if (is_step) {
        gi_op_delta_step(&run->recorder, &s->delta, s->x_rows.range, &s->range, s->memory,
                         s->out.range);
    } else {
        gi_op_delta_batch(&run->recorder, &s->delta, &s->x_rows, &s->range, s->memory, &s->mixed,
                          &s->o, &s->out);
    }
}

static bool run_shape(struct kt_run *run, const struct delta_case *c, bool is_step)
{
    struct delta_run s = {0};
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
                                      (uint64_t)c->n_tokens * 4 * s.delta.n_column * sizeof(float));
    finish(&s);
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    return run_shape(run, &cases[index], cases[index].n_tokens == 1);
}

// A single token as a batch.
static bool run_lone(struct kt_run *run, size_t index)
{
    return run_shape(run, &cases[index], false);
}

static bool run_bench(struct kt_run *run, size_t index)
{
    return run_shape(run, &benches[index], benches[index].n_tokens == 1);
}

const struct kt_suite kt_delta = {"delta", COUNT(cases), name_case, run_case};
const struct kt_suite kt_delta_lone = {"delta_lone", 4, name_case, run_lone};
const struct kt_suite kt_delta_bench = {"bench_delta", COUNT(benches), name_bench, run_bench};

//-- gates of attention's output -------------------------------------------------------------------

static const struct gate_case {
    uint32_t n_head, n_kv_head, head_dim, n_tokens;
} gate_cases[] = {
    {1, 1, 8, 1},
    {4, 2, 24, 3},
    {2, 1, 256, 33},
};

static void name_gate(size_t index, char *text, size_t size)
{
    const struct gate_case *c = &gate_cases[index];
    snprintf(text, size, "%u heads of %u, %u tokens", c->n_head, c->head_dim, c->n_tokens);
}

// Element i of a row has the gate of pair i / 2 in a stack of tiles of 8 first and 8 second rows.
static bool run_gate(struct kt_run *run, size_t index)
{
    const struct gate_case *c = &gate_cases[index];
    const uint32_t width = c->n_head * c->head_dim, stride = kt_pad32(width) + 32;
    struct gi_qkv_layout layout;
    gi_qkv_layout_init(&layout, c->n_head, c->n_kv_head, c->head_dim);
    gi_qkv_layout_add_gate(&layout);
    const uint32_t qkv_stride = kt_pad32(layout.n_rows);
    const size_t n_x = (size_t)c->n_tokens * stride, n_qkv = (size_t)c->n_tokens * qkv_stride;
    float *x = kt_alloc(n_x, sizeof(float)), *qkv = kt_alloc(n_qkv, sizeof(float));
    double *want = kt_alloc((size_t)c->n_tokens * width, sizeof(double));
    double *bound = kt_alloc((size_t)c->n_tokens * width, sizeof(double));
    kt_fill(run, x, n_x, -2, 2);
    kt_fill(run, qkv, n_qkv, -9, 9);
    for (size_t i = 0; i < (size_t)c->n_tokens * width; i++) {
        const size_t m = i / width, at = i % width;
        const float *gates = qkv + m * qkv_stride + layout.gate_begin;
        const double gate = gates[at / 16 * 16 + at % 16 / 2 + at % 2 * 8];
        want[i] = x[m * stride + at] / (1 + exp(-gate));
        bound[i] = 32 * (double)FLT_EPSILON * fabs(want[i]);
    }
    const struct gi_rows x_rows = {kt_range(run, "x", x, n_x * sizeof(float)), stride, false};
    const struct gi_rows qkv_rows = {kt_range(run, "qkv", qkv, n_qkv * sizeof(float)), qkv_stride,
                                     false};
    gi_op_gate_rows(&run->recorder, "attn_gate", &layout, &qkv_rows, &x_rows);
    bool is_good = kt_seal(run) && kt_replay(run, 5, c->n_tokens) &&
                   kt_compare_rows(run, "x", &x_rows, c->n_tokens, 0, width, want, bound);
    free(x);
    free(qkv);
    free(want);
    free(bound);
    return is_good;
}

const struct kt_suite kt_gate_rows = {"gate_rows", COUNT(gate_cases), name_gate, run_gate};
