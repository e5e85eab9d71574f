// Tests the short convolution: steps and batches of any length, from the beginning of a text or
// after some tokens; centred ones of whole texts.
#include "ops/conv/short_conv.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

static const struct conv_case {
    uint32_t n_channel, n_taps, n_tokens, n_past;
    bool is_step;
    uint32_t n_after;
} cases[] = {
    {4, 2, 1, 0, true, 0},     {48, 3, 1, 1, true, 0},    {260, 3, 1, 2, true, 0},
    {64, 8, 1, 19, true, 0},   {64, 3, 1, 5, false, 0},   {48, 3, 2, 0, false, 0},
    {4, 2, 9, 1, false, 0},    {300, 3, 17, 1, false, 0}, {64, 8, 3, 4, false, 0},
    {64, 8, 33, 20, false, 0}, {1024, 4, 8, 6, false, 0}, {64, 3, 1, 0, false, 1},
    {48, 3, 2, 0, false, 1},   {300, 3, 17, 0, false, 1}, {64, 7, 33, 0, false, 3},
};

static const struct conv_case benches[] = {
    {2048, 3, 1, 100, true, 0},
    {2048, 3, 512, 100, false, 0},
};

static void write_name(const struct conv_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u channels, %u taps, %u after, %s%u tokens after %u", c->n_channel,
             c->n_taps, c->n_after, c->is_step ? "a step, " : "", c->n_tokens, c->n_past);
}

static bool run_shape(struct kt_run *run, const struct conv_case *c)
{
    const struct gi_short_conv conv = {.n_channel = c->n_channel,
                                       .n_taps = c->n_taps,
                                       .section = (c->n_channel + 15) / 16 * 16,
                                       .taps = 32,
                                       .n_after = c->n_after};
    const struct gi_vectors vectors = kt_random_vectors(run, 32 + c->n_channel * c->n_taps);
    const struct gi_range past = kt_state(run, gi_short_conv_state_size(&conv), c->n_past);
    const struct gi_rows bcx =
        kt_random_rows(run, "bcx", c->n_tokens, kt_pad32(3 * conv.section), 2);
    const struct gi_rows y = kt_rows(run, "y", NULL, c->n_tokens, kt_pad32(c->n_channel));
    gi_op_short_conv(&run->recorder, &conv, !c->is_step, &bcx, &vectors, past, &y);
    return kt_finish(run, c->n_past, c->n_tokens,
                     4 * (uint64_t)c->n_tokens * c->n_channel * sizeof(float));
}

KT_TABLE(short_conv, "short_conv", cases, write_name, run_shape);
KT_TABLE(short_conv_bench, "bench_short_conv", benches, write_name, run_shape);
