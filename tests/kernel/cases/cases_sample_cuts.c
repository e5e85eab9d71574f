// Checks where full_bins leaves the cuts of sampling from the whole vocabulary.
#include "tests/kernel/cases/cases_step.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

// The cuts as full_bins leaves them (glsl/sample/scratch.glsl).
struct cuts {
    uint32_t first_open, end_open, n_open, count, mass[2], is_exact;
};

// A logit falls by one, a whole number of bins, every ten tokens.
static float logit_of(uint32_t token)
{
    const uint32_t n_steps = token / 10;
    return -(float)n_steps;
}

// Cases of what is found among those.
static const struct cut_case {
    uint32_t top_k;
    float top_p;
    struct cuts cuts;
} cut_cases[] = {
    {0, 1.0F, {512, 512, 0, 0, {0}, 1}},  {20, 1.0F, {17, 17, 0, 20, {0}, 1}}, // ends with a bin
    {25, 1.0F, {32, 33, 10, 20, {0}, 0}}, {5, 1.0F, {0, 1, 10, 0, {0}, 0}},
    {0, 0.5F, {0, 1, 10, 0, {0}, 1}},     {0, 0.8F, {16, 17, 10, 10, {0}, 1}},
    {20, 0.5F, {0, 1, 10, 0, {0}, 1}},    {20, 0.95F, {16, 17, 10, 10, {0}, 1}},
    {25, 0.8F, {16, 33, 20, 10, {0}, 0}}, {25, 0.1F, {0, 33, 30, 0, {0}, 0}},
    {5, 0.9F, {0, 1, 10, 0, {0}, 0}},
};

// Returns true if a mass, in units of 2^-44, is that of the first count tokens.
static bool is_mass(const uint32_t mass[2], uint32_t count)
{
    double want = 0;
    for (uint32_t i = 0; i < count; i++) {
        want += exp((double)logit_of(i)) * 4096;
    }
    const double found = mass[1] + mass[0] / 4294967296.0;
    return fabs(found - want) <= 4 * (double)FLT_EPSILON * want;
}

static bool expect_cuts(struct kt_run *run, const struct kt_step *step, const struct cut_case *test)
{
    struct cuts cuts;
    const size_t at = step->logits.scratch + GI_SAMPLE_ZEROS + 2;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    if (!kt_replay(run, 0, 1) ||
        !kt_read(run, &step->logits.range, at * sizeof(uint32_t), &cuts, sizeof(cuts))) {
        return false;
    }
    const bool is_right = cuts.first_open == test->cuts.first_open &&
                          cuts.end_open == test->cuts.end_open &&
                          cuts.n_open == test->cuts.n_open && cuts.count == test->cuts.count &&
                          cuts.is_exact == test->cuts.is_exact &&
                          (test->top_p == 1.0F || is_mass(cuts.mass, cuts.count));
    return is_right || kt_fail(run, "%u open from bin %u, %u before, exact: %u", cuts.n_open,
                               cuts.first_open, cuts.count, cuts.is_exact);
}

static void name_cuts(size_t index, char *text, size_t size)
{
    snprintf(text, size, "top_k %u, top_p %g", cut_cases[index].top_k,
             (double)cut_cases[index].top_p);
}

static bool run_cuts(struct kt_run *run, size_t index)
{
    enum { N_VOCAB = 200 };
    float logits[N_VOCAB];
    struct kt_step step;
    for (uint32_t i = 0; i < N_VOCAB; i++) {
        logits[i] = logit_of(i);
    }
    run->state.temperature = 1;
    return kt_step_init(run, &step, logits, N_VOCAB, 64) &&
           kt_step_record(run, &step, gi_op_sample_full) &&
           expect_cuts(run, &step, &cut_cases[index]);
}

const struct kt_suite kt_sample_cuts = {"sample_cuts", sizeof(cut_cases) / sizeof(cut_cases[0]),
                                        name_cuts, run_cuts};
