// Tests Mamba-2: decode steps and batches from a nonzero state, and the norms after it.
#include "ops/ssm/ssm.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

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
    snprintf(text, size, "%u heads of %u, %u groups of %u, %u taps, %u tokens after %u", c->n_head,
             c->dim, c->n_group, c->state_dim, c->n_taps, c->n_tokens, c->n_past);
}

// Lays the projection and the vectors out with gaps.
static struct gi_ssm lay_out(const struct ssm_case *c)
{
    struct gi_ssm ssm = {
        .params = {.n_head = c->n_head, .n_group = c->n_group, .taps = 4},
        .dim = c->dim,
        .state_dim = c->state_dim,
        .n_taps = c->n_taps,
    };
    struct gi_ssm_params *params = &ssm.params;
    const uint32_t n_channel = gi_ssm_channels(&ssm);
    params->channels = kt_pad32(c->n_head * c->dim);
    params->dt = params->channels + n_channel + 4;
    ssm.n_column = params->dt + kt_pad32(c->n_head) + 28;
    params->taps_bias = params->taps + n_channel * c->n_taps;
    params->dt_bias = params->taps_bias + n_channel;
    params->skip = params->dt_bias + c->n_head;
    params->decay_rate = params->skip + c->n_head;
    return ssm;
}

static bool run_shape(struct kt_run *run, const struct ssm_case *c)
{
    const struct gi_ssm ssm = lay_out(c);
    const uint32_t n_state = gi_ssm_state_size(&ssm);
    const struct gi_vectors vectors = kt_rate_vectors(run, ssm.params.decay_rate, c->n_head);
    const struct gi_range state = kt_state(run, n_state, c->n_past);
    const struct gi_rows x = kt_random_rows(run, "x", c->n_tokens, ssm.n_column, 2);
    const struct gi_rows out = kt_rows(run, "out", NULL, c->n_tokens, kt_pad32(c->n_head * c->dim));
    const struct gi_rows mixed =
        kt_rows(run, "mixed", NULL, c->n_tokens, kt_pad32(gi_ssm_mixed_size(&ssm)));
    if (c->n_tokens == 1) {
        gi_op_ssm_step(&run->recorder, &ssm, x.range, &vectors, state, out.range);
    } else {
        gi_op_ssm_batch(&run->recorder, &ssm, &x, &vectors, state, &mixed, &out);
    }
    const uint64_t n_read = 2 * (uint64_t)n_state + (uint64_t)c->n_tokens * 3 * ssm.n_column;
    return kt_finish(run, c->n_past, c->n_tokens, n_read * sizeof(float));
}

KT_TABLE(ssm, "ssm", cases, write_name, run_shape);
KT_TABLE(ssm_bench, "bench_ssm", benches, write_name, run_shape);

//-- norms -----------------------------------------------------------------------------------------

static uint64_t record_ssm_norm(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_group = v[0], width = v[1], n_tokens = v[2], n_row = n_group * width;
    const struct gi_rows y = kt_random_rows(run, "y", n_tokens, kt_pad32(n_row) + 32, 2);
    const struct gi_vectors vectors = kt_random_vectors(run, 4 + n_row);
    gi_op_ssm_norm(&run->recorder, n_tokens > 1, n_group, width, &vectors, 4, 1e-5f, &y);
    return 8ull * n_tokens * n_row;
}

static const struct kt_axis norm_axes[] = {
    KT_NUMBERS("groups", 1, 3), KT_NUMBERS("width", 4, 132, 1536), KT_NUMBERS("tokens", 1, 5)};
KT_DESCRIBE(ssm_norm, norm_axes);
