// The short convolution: steps and batches of any length, from the begin of a text or behind some
// of it.
#include "ops/conv/short_conv.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static const struct conv_case {
    uint32_t n_channel, n_taps, n_tokens, n_past;
    bool is_step;
} cases[] = {
    {4, 2, 1, 0, true},   {48, 3, 1, 1, true},    {260, 3, 1, 2, true},   {64, 8, 1, 19, true},
    {64, 3, 1, 5, false}, {48, 3, 2, 0, false},   {4, 2, 9, 1, false},    {300, 3, 17, 1, false},
    {64, 8, 3, 4, false}, {64, 8, 33, 20, false}, {1024, 4, 8, 6, false},
};

static const struct conv_case benches[] = {
    {2048, 3, 1, 100, true},
    {2048, 3, 512, 100, false},
};

static void write_name(const struct conv_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u channels, %u taps, %s%u tokens behind %u", c->n_channel, c->n_taps,
             c->is_step ? "a step, " : "", c->n_tokens, c->n_past);
}

static void name_case(size_t index, char *text, size_t size)
{
    write_name(&cases[index], text, size);
}

static void name_bench(size_t index, char *text, size_t size)
{
    write_name(&benches[index], text, size);
}

struct conv_run {
    const struct conv_case *c;
    struct gi_short_conv conv;
    uint32_t n_column, n_state;
    size_t n_bcx, n_y;
    float *vectors, *bcx, *state, *past;
    struct gi_vectors range;
    struct gi_range memory;
    struct gi_rows bcx_rows, y;
};

static void fill(struct conv_run *s, struct kt_run *run)
{
    const struct conv_case *c = s->c;
    const uint32_t n_vector = 32 + c->n_channel * c->n_taps;
    s->conv = (struct gi_short_conv){.n_channel = c->n_channel,
                                     .n_taps = c->n_taps,
                                     .section = (c->n_channel + 15) / 16 * 16,
                                     .taps = 32};
    s->n_column = kt_pad32(3 * s->conv.section);
    s->n_state = gi_short_conv_state_size(&s->conv);
    s->n_bcx = (size_t)c->n_tokens * s->n_column;
    s->n_y = (size_t)c->n_tokens * c->n_channel;
    s->vectors = kt_alloc(n_vector, sizeof(float));
    s->bcx = kt_alloc(s->n_bcx, sizeof(float));
    s->state = kt_alloc(s->n_state, sizeof(float));
    kt_fill(run, s->vectors, n_vector, -1, 1);
    kt_fill(run, s->bcx, s->n_bcx, -2, 2);
    kt_fill(run, s->state, s->n_state, -4, 4);
    s->range = kt_vectors(run, s->vectors, n_vector, 0);
    s->memory = kt_range(run, "past", s->state, s->n_state * sizeof(float));
    s->bcx_rows = (struct gi_rows){kt_range(run, "bcx", s->bcx, s->n_bcx * sizeof(float)),
                                   s->n_column, false};
    s->y = kt_rows(run, "y", NULL, c->n_tokens, kt_pad32(c->n_channel));
}

// b * x of the tokens before the first, the last of them first; zero before the text begins.
static void set_past(struct conv_run *s)
{
    const uint32_t n_past = s->c->n_past, n_row = s->c->n_taps - 1, n = s->c->n_channel;
    s->past = kt_alloc(s->n_state, sizeof(float));
    for (uint32_t back = 1; back <= n_row; back++) {
        for (uint32_t i = 0; i < n; i++) {
            s->past[(back - 1) * n + i] =
                back <= n_past ? s->state[(n_past - back) % n_row * n + i] : 0;
        }
    }
}

static bool check_y(struct kt_run *run, struct conv_run *s)
{
    double *want = kt_alloc(s->n_y, sizeof(double)), *bound = kt_alloc(s->n_y, sizeof(double));
    const struct ref_short_conv ref = {.n_tokens = s->c->n_tokens,
                                       .n_channel = s->c->n_channel,
                                       .n_taps = s->c->n_taps,
                                       .n_column = s->n_column,
                                       .section = s->conv.section,
                                       .bcx = s->bcx,
                                       .past = s->past,
                                       .taps = s->vectors + s->conv.taps};
    ref_short_conv(&ref, want, bound);
    for (size_t i = 0; i < s->n_y; i++) {
        bound[i] *= (s->c->n_taps + 2) * (double)FLT_EPSILON;
    }
    const bool is_good =
        kt_compare_rows(run, "y", &s->y, s->c->n_tokens, 0, s->c->n_channel, want, bound);
    free(want);
    free(bound);
    return is_good;
}

// The rows of the last tokens; those of others are as they were.
static bool check_state(struct kt_run *run, struct conv_run *s)
{
    const uint32_t n_row = s->c->n_taps - 1, n = s->c->n_channel, n_tokens = s->c->n_tokens;
    double *want = kt_alloc(s->n_state, sizeof(double));
    double *bound = kt_alloc(s->n_state, sizeof(double));
    for (uint32_t i = 0; i < s->n_state; i++) {
        want[i] = s->state[i];
    }
    for (uint32_t m = n_tokens > n_row ? n_tokens - n_row : 0; m < n_tokens; m++) {
        const float *row = s->bcx + (size_t)m * s->n_column;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t at = (s->c->n_past + m) % n_row * n + i;
            want[at] = (double)row[i] * row[2 * s->conv.section + i];
            bound[at] = 8 * (double)FLT_EPSILON;
        }
    }
    const bool is_good = kt_compare_f32(run, "past", &s->memory, 0, want, bound, s->n_state);
    free(want);
    free(bound);
    return is_good;
}

static bool run_shape(struct kt_run *run, const struct conv_case *c)
{
    struct conv_run s = {.c = c};
    fill(&s, run);
    set_past(&s);
    gi_op_short_conv(&run->recorder, &s.conv, !c->is_step, &s.bcx_rows, &s.range, s.memory, &s.y);
    bool is_good = kt_seal(run);
    if (is_good && !run->is_bench) {
        is_good =
            kt_replay(run, c->n_past, c->n_tokens) && check_y(run, &s) && check_state(run, &s);
    }
    is_good = is_good && kt_bench(run, c->n_past, c->n_tokens, 4 * s.n_y * sizeof(float));
    free(s.vectors);
    free(s.bcx);
    free(s.state);
    free(s.past);
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    return run_shape(run, &cases[index]);
}

static bool run_bench(struct kt_run *run, size_t index)
{
    return run_shape(run, &benches[index]);
}

const struct kt_suite kt_short_conv = {"short_conv", COUNT(cases), name_case, run_case};
const struct kt_suite kt_short_conv_bench = {"bench_short_conv", COUNT(benches), name_bench,
                                             run_bench};
