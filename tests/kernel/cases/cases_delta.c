// The gated delta rule: decode steps and batches, from a state that is not zero; gates of
// attention's output.
#include "ops/delta/delta.h"
#include "ops/gemm/batch.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

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
    snprintf(text, size, "%u of %u heads of %u%s, %u taps, %u tokens after %u", c->n_head,
             c->n_k_head, c->dim, c->has_neighbours ? " side by side" : "", c->n_taps, c->n_tokens,
             c->n_past);
}

// Lays the projection and the vectors out one after the other.
static struct gi_delta lay_out(const struct delta_case *c)
{
    struct gi_delta delta = {
        .params = {.n_head = c->n_head, .n_k_head = c->n_k_head, .eps = 1e-6f},
        .dim = c->dim,
        .n_neighbour = c->has_neighbours ? c->n_head / c->n_k_head : 0,
        .n_taps = c->n_taps,
    };
    struct gi_delta_params *params = &delta.params;
    const uint32_t n_channel = gi_delta_channels(&delta);
    params->z = n_channel;
    params->rate = n_channel + c->n_head * c->dim;
    params->decay = params->rate + kt_pad32(c->n_head);
    delta.n_column = params->decay + kt_pad32(c->n_head);
    params->gamma = n_channel * c->n_taps;
    params->decay_bias = params->gamma + c->dim;
    params->decay_rate = params->decay_bias + c->n_head;
    return delta;
}

static bool run_shape(struct kt_run *run, const struct delta_case *c, bool is_step)
{
    const struct gi_delta delta = lay_out(c);
    const uint32_t width = c->n_head * c->dim, n_state = gi_delta_state_size(&delta);
    const struct gi_vectors vectors = kt_rate_vectors(run, delta.params.decay_rate, c->n_head);
    const struct gi_range state = kt_state(run, n_state, c->n_past);
    const struct gi_rows x = kt_random_rows(run, "x", c->n_tokens, delta.n_column, 2);
    const struct gi_rows out = kt_rows(run, "out", NULL, c->n_tokens, kt_pad32(width));
    const struct gi_rows o = kt_rows(run, "o", NULL, c->n_tokens, kt_pad32(width));
    const struct gi_rows mixed =
        kt_rows(run, "mixed", NULL, c->n_tokens, kt_pad32(gi_delta_mixed_size(&delta)));
    if (is_step) {
        gi_op_delta_step(&run->recorder, &delta, x.range, &vectors, state, out.range);
    } else {
        gi_op_delta_batch(&run->recorder, &delta, &x, &vectors, state, &mixed, &o, &out);
    }
    const uint64_t n_read = 2 * (uint64_t)n_state + (uint64_t)c->n_tokens * 4 * delta.n_column;
    return kt_finish(run, c->n_past, c->n_tokens, n_read * sizeof(float));
}

static bool run_case(struct kt_run *run, const struct delta_case *c)
{
    return run_shape(run, c, c->n_tokens == 1);
}

// Single tokens as batches.
static const struct delta_case lone_cases[] = {
    {2, 2, 16, 4, 1, 0, false},
    {4, 2, 32, 4, 1, 5, false},
    {2, 1, 64, 2, 1, 6, false},
    {3, 3, 128, 4, 1, 9, false},
};

static bool run_lone(struct kt_run *run, const struct delta_case *c)
{
    return run_shape(run, c, false);
}

KT_TABLE(delta, "delta", cases, write_name, run_case);
KT_TABLE(delta_lone, "delta_lone", lone_cases, write_name, run_lone);
KT_TABLE(delta_bench, "bench_delta", benches, write_name, run_case);

//-- gates of attention's output -------------------------------------------------------------------

static uint64_t record_gate_rows(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_head = v[0], head_dim = v[1], n_tokens = v[2];
    struct gi_qkv_layout layout;
    gi_qkv_layout_init(&layout, n_head, (n_head + 1) / 2, head_dim);
    gi_qkv_layout_add_gate(&layout, v[3] ? head_dim : 1);
    const struct gi_rows x =
        kt_random_rows(run, "x", n_tokens, kt_pad32(n_head * head_dim) + 32, 2);
    const struct gi_rows qkv = kt_random_rows(run, "qkv", n_tokens, kt_pad32(layout.n_rows), 9);
    gi_op_gate_rows(&run->recorder, "attn_gate", &layout, &qkv, &x);
    return 12ull * n_tokens * n_head * head_dim;
}

static const struct kt_axis gate_axes[] = {
    KT_NUMBERS("heads", 1, 2, 4), KT_NUMBERS("head size", 8, 24, 256),
    KT_NUMBERS("tokens", 1, 3, 33), KT_NUMBERS("gates of heads", 0, 1)};
KT_DESCRIBE(gate_rows, gate_axes);
