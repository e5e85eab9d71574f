// Sampling against sorting in double: the filters, the token, log-probabilities, its statistics.
#include "tests/kernel/cases/cases_step.h"
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SEED 6

enum shape {
    SHAPE_NORMAL, // a bell of width 3
    SHAPE_FLAT,   // nearly equal, all different
    SHAPE_EQUAL,
    SHAPE_TIES,   // five values
    SHAPE_SPIKE,  // one dominates
    SHAPE_WIDE,   // far apart
    SHAPE_HUGE,   // all of f32
    SHAPE_ZEROS,  // zeros of both signs and denormals
    SHAPE_STEPS,  // ties around every cut, falling slowly
    SHAPE_BELL,   // a bell of width 1, as random weights give
    SHAPE_NARROW, // a bell of width 1/16
    SHAPE_COPIES, // all but equal every 2,048
};

struct sample_case {
    const char *name;
    uint32_t n_vocab;
    enum shape shape;
    uint32_t top_k;
    float top_p, min_p, temperature;
    uint32_t n_probs;
};

static const struct sample_case sample_cases[] = {
    {"defaults", 49152, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults, large", 128256, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults near", 128256, SHAPE_FLAT, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults equal", 49153, SHAPE_EQUAL, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults tied", 49151, SHAPE_TIES, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults one huge", 49150, SHAPE_SPIKE, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults steps", 49149, SHAPE_STEPS, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults wide", 128256, SHAPE_WIDE, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults all of f32", 128256, SHAPE_HUGE, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults zeros", 32001, SHAPE_ZEROS, 40, 0.95F, 0.05F, 0.8F, 0},
    {"defaults, few tokens", 700, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.8F, 0},
    {"top_k alone", 49152, SHAPE_NORMAL, 40, 1.0F, 0.0F, 0.8F, 0},
    {"top_k 1 alone", 49152, SHAPE_NORMAL, 1, 1.0F, 0.0F, 0.8F, 0},
    {"top_k 1 tied", 49152, SHAPE_STEPS, 1, 0.95F, 0.0F, 0.8F, 0},
    {"top_k 100", 128256, SHAPE_NORMAL, 100, 0.95F, 0.0F, 1.5F, 0},
    {"top_k 100 steps", 128256, SHAPE_STEPS, 100, 0.95F, 0.0F, 1.5F, 0},
    {"top_k 250", 128256, SHAPE_NORMAL, 250, 0.95F, 0.0F, 1.5F, 0},
    {"min_p 0.05", 128256, SHAPE_NORMAL, 0, 1.0F, 0.05F, 0.8F, 0},
    {"min_p 0.05 steps", 128256, SHAPE_STEPS, 0, 1.0F, 0.05F, 0.8F, 0},
    {"top_p 0.95", 49152, SHAPE_NORMAL, 0, 0.95F, 0.0F, 0.8F, 0},
    {"top_p 0.95, large", 128256, SHAPE_NORMAL, 0, 0.95F, 0.0F, 0.8F, 0},
    {"temperature alone", 49152, SHAPE_NORMAL, 0, 1.0F, 0.0F, 0.8F, 0},
    {"temperature, large", 128256, SHAPE_NORMAL, 0, 1.0F, 0.0F, 0.8F, 0},
    {"defaults flat", 49152, SHAPE_FLAT, 40, 0.95F, 0.05F, 0.8F, 10},
    {"defaults ties", 49152, SHAPE_TIES, 40, 0.95F, 0.05F, 0.8F, 10},
    {"defaults spike", 49152, SHAPE_SPIKE, 40, 0.95F, 0.05F, 0.8F, 64},
    {"one token", 1, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.8F, 64},
    {"three tokens", 3, SHAPE_NORMAL, 2, 1.0F, 0.0F, 1.0F, 64},
    {"odd vocabulary", 32003, SHAPE_NORMAL, 7, 1.0F, 0.0F, 1.5F, 5},
    {"top_k 1", 32000, SHAPE_NORMAL, 1, 1.0F, 0.0F, 1.0F, 1},
    {"top_k 1 equal", 32000, SHAPE_EQUAL, 1, 1.0F, 0.0F, 1.0F, 64},
    {"top_k 1000", 128256, SHAPE_NORMAL, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 1000 ties", 128256, SHAPE_TIES, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 5000 steps", 128256, SHAPE_STEPS, 5000, 0.9F, 0.0F, 2.0F, 20},
    {"top_k n_vocab", 32000, SHAPE_NORMAL, 32000, 1.0F, 0.0F, 1.0F, 0},
    {"top_k n_vocab - 1", 32000, SHAPE_FLAT, 31999, 1.0F, 0.0F, 1.0F, 0},
    {"top_p 0.01", 32000, SHAPE_NORMAL, 0, 0.01F, 0.0F, 1.0F, 3},
    {"top_p 0.5", 151936, SHAPE_NORMAL, 0, 0.5F, 0.0F, 1.0F, 3},
    {"top_p 0.5 flat", 262144, SHAPE_FLAT, 0, 0.5F, 0.0F, 1.0F, 3},
    {"top_p 0.5 equal", 262144, SHAPE_EQUAL, 0, 0.5F, 0.0F, 1.0F, 64},
    {"top_p 0.7 ties", 262144, SHAPE_TIES, 0, 0.7F, 0.0F, 1.0F, 64},
    {"top_p 0.999", 32000, SHAPE_NORMAL, 0, 0.999F, 0.0F, 1.0F, 3},
    {"top_p 0.999 spike", 32000, SHAPE_SPIKE, 0, 0.999F, 0.0F, 1.0F, 3},
    {"top_p tiny", 32000, SHAPE_NORMAL, 0, 1e-9F, 0.0F, 1.0F, 0},
    {"min_p 0.001", 32000, SHAPE_NORMAL, 0, 1.0F, 0.001F, 1.0F, 0},
    {"min_p 1", 32000, SHAPE_TIES, 0, 1.0F, 1.0F, 1.0F, 0},
    {"no filter", 262144, SHAPE_NORMAL, 0, 1.0F, 0.0F, 1.0F, 0},
    {"no filter flat, probs", 262144, SHAPE_FLAT, 0, 1.0F, 0.0F, 1.0F, 64},
    {"hot", 32000, SHAPE_NORMAL, 0, 1.0F, 0.0F, 50.0F, 0},
    {"cold", 32000, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.01F, 0},
    {"greedy", 49152, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.0F, 64},
    {"greedy ties", 49152, SHAPE_TIES, 0, 0.5F, 0.0F, -1.0F, 64},
    {"greedy equal", 262144, SHAPE_EQUAL, 0, 1.0F, 0.0F, 0.0F, 64},
    {"wide", 32000, SHAPE_WIDE, 500, 0.99F, 0.0F, 2000, 30},
    {"huge", 32000, SHAPE_HUGE, 3000, 0.99F, 0.0F, 1.0F, 30},
    {"zeros", 32000, SHAPE_ZEROS, 3000, 0.9F, 0.0F, 1.0F, 30},
    {"every filter, large", 262144, SHAPE_STEPS, 200000, 0.9F, 0.3F, 1.3F, 64},
};

// More for gi_op_sample_full. A name may be one of those above.
static const struct sample_case full_cases[] = {
    {"top_p 0.9", 49152, SHAPE_NORMAL, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9, large", 128256, SHAPE_NORMAL, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 bell", 128256, SHAPE_BELL, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 narrow", 151936, SHAPE_NARROW, 0, 0.9F, 0.0F, 1.2F, 0},
    {"top_p 0.9 flat", 49152, SHAPE_FLAT, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 equal", 49153, SHAPE_EQUAL, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 ties", 49151, SHAPE_TIES, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 spike", 49150, SHAPE_SPIKE, 0, 0.9F, 0.0F, 0.8F, 0},
    {"top_p 0.9 wide", 32000, SHAPE_WIDE, 0, 0.9F, 0.0F, 2000, 0},
    {"top_p 0.9 huge", 32000, SHAPE_HUGE, 0, 0.9F, 0.0F, 1.0F, 0},
    {"top_p 0.9 zeros", 32000, SHAPE_ZEROS, 0, 0.9F, 0.0F, 1.0F, 0},
    {"top_p 0.9 steps", 128256, SHAPE_STEPS, 0, 0.9F, 0.0F, 1.0F, 0},
    {"top_p and min_p", 128256, SHAPE_BELL, 0, 0.95F, 0.02F, 1.5F, 0},
    {"top_p 0.999 spike", 32000, SHAPE_SPIKE, 0, 0.999F, 0.0F, 1.0F, 0},
    {"top_p 0.99999", 49152, SHAPE_BELL, 0, 0.99999F, 0.0F, 1.0F, 0},
    {"top_p tiny", 32000, SHAPE_NORMAL, 0, 1e-9F, 0.0F, 1.0F, 0},
    {"top_p of one token", 1, SHAPE_NORMAL, 0, 0.9F, 0.0F, 1.0F, 0},
    {"top_p of three", 3, SHAPE_NORMAL, 0, 0.9F, 0.0F, 1.0F, 0},
    {"top_p, odd", 32003, SHAPE_BELL, 0, 0.5F, 0.0F, 1.0F, 0},
    {"top_k 1000", 128256, SHAPE_NORMAL, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 1000 bell", 128256, SHAPE_BELL, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 1000 ties", 128256, SHAPE_TIES, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 1000 equal", 32001, SHAPE_EQUAL, 1000, 1.0F, 0.0F, 2.0F, 0},
    {"top_k 1000 huge", 32000, SHAPE_HUGE, 1000, 1.0F, 0.0F, 1.0F, 0},
    {"top_k 1000 spike", 32000, SHAPE_SPIKE, 1000, 1.0F, 0.0F, 3.0F, 0},
    {"top_k 1", 32000, SHAPE_STEPS, 1, 1.0F, 0.0F, 1.0F, 0},
    {"top_k n_vocab - 1", 32000, SHAPE_FLAT, 31999, 1.0F, 0.0F, 1.0F, 0},
    {"top_k n_vocab - 1 of zeros", 32000, SHAPE_ZEROS, 31999, 1.0F, 0.0F, 1.0F, 0},
    {"top_k and min_p", 128256, SHAPE_BELL, 2000, 1.0F, 0.05F, 1.0F, 0},
    {"both", 128256, SHAPE_NORMAL, 1000, 0.95F, 0.0F, 2.0F, 0},
    {"both, bell", 128256, SHAPE_BELL, 1000, 0.95F, 0.0F, 2.0F, 0},
    {"both, narrow", 151936, SHAPE_NARROW, 5000, 0.95F, 0.01F, 2.0F, 0},
    {"both, ties", 128256, SHAPE_TIES, 1000, 0.5F, 0.0F, 2.0F, 0},
    {"both, equal", 32001, SHAPE_EQUAL, 1000, 0.5F, 0.0F, 2.0F, 0},
    {"both, wide", 32000, SHAPE_WIDE, 500, 0.99F, 0.0F, 2000, 0},
    {"both, huge", 32000, SHAPE_HUGE, 3000, 0.99F, 0.0F, 1.0F, 0},
    {"both, zeros", 32000, SHAPE_ZEROS, 3000, 0.9F, 0.0F, 1.0F, 0},
    {"both, spike", 32000, SHAPE_SPIKE, 3000, 0.9F, 0.0F, 1.0F, 0},
    {"both, flat", 49152, SHAPE_FLAT, 20000, 0.9F, 0.0F, 1.0F, 0},
    {"both and min_p", 262144, SHAPE_STEPS, 200000, 0.9F, 0.3F, 1.3F, 0},
};

// More for gi_op_sample_small_k, which all in sample_cases are for too, with a small top_k.
static const struct sample_case small_k_cases[] = {
    {"top_k 112", 128256, SHAPE_BELL, 112, 0.95F, 0.0F, 1.5F, 0},
    {"top_k 112 steps", 49152, SHAPE_STEPS, 112, 0.9F, 0.0F, 1.5F, 0},
    {"top_k 112 of few", 130, SHAPE_NORMAL, 112, 0.95F, 0.0F, 1.5F, 0},
    {"top_k 112 equal", 32001, SHAPE_EQUAL, 112, 0.95F, 0.0F, 1.5F, 0},
    {"top_k 64 huge", 32000, SHAPE_HUGE, 64, 0.99F, 0.0F, 1.0F, 0},
    {"top_k 40 copies", 128256, SHAPE_COPIES, 40, 0.95F, 0.0F, 0.8F, 0},
    {"top_k 2", 151936, SHAPE_NARROW, 2, 1.0F, 0.0F, 1.0F, 0},
    {"top_p 0", 49152, SHAPE_BELL, 40, 0.0F, 0.0F, 1.0F, 0},
    {"min_p 1", 49152, SHAPE_BELL, 40, 1.0F, 1.0F, 1.0F, 0},
};

//-- logits ----------------------------------------------------------------------------------------

static float random_bell(struct kt_run *run)
{
    float sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += kt_uniform(run, -0.5F, 0.5F);
    }
    return sum;
}

static float random_bits(struct kt_run *run, uint32_t bits)
{
    bits |= kt_index(run, 2) << 31;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float random_logit(struct kt_run *run, enum shape shape, uint32_t i)
{
    switch (shape) {
    case SHAPE_NORMAL:
        return 8 + 3 * random_bell(run);
    case SHAPE_BELL:
        return random_bell(run);
    case SHAPE_NARROW:
        return random_bell(run) / 16 - 1;
    case SHAPE_FLAT:
        return kt_uniform(run, 3.0F, 3.001F);
    case SHAPE_EQUAL:
        return -7.25F;
    case SHAPE_TIES:
        return (float)kt_index(run, 5);
    case SHAPE_SPIKE:
        return i == 17 ? 40.0F : random_bell(run);
    case SHAPE_WIDE:
        return kt_uniform(run, -1e4F, 1e4F);
    case SHAPE_HUGE:
        return random_bits(run, kt_index(run, 0x7F800000));
    case SHAPE_ZEROS:
        return random_bits(run, kt_index(run, 3) == 0 ? 0 : kt_index(run, 1000));
    case SHAPE_COPIES:
        return sinf((float)(i % 2048 * i % 2048)) * 4 + kt_uniform(run, -1e-3F, 1e-3F);
    case SHAPE_STEPS:
        return 12 - (float)kt_index(run, 4000) / 512;
    }
    return 0;
}

//-- a token ---------------------------------------------------------------------------------------

struct sampling {
    const struct sample_case *test;
    struct ref_candidate *sorted; // owned
    uint32_t low, high;           // the cut lies between: f32 may round the share either way
    struct kt_step step;
};

static uint32_t count_kept(const struct sampling *d, double slack)
{
    const struct sample_case *test = d->test;
    const struct ref_filter filter = {
        .top_k = test->top_k,
        .top_p = test->top_p < 1 ? test->top_p - slack : 1,
        .min_p = test->min_p > 0 ? test->min_p * (1 + slack) : 0,
    };
    return ref_sample_filter(d->sorted, test->n_vocab, &filter);
}

// Returns true if the token is the best of the first n candidates, for an n that rounding allows.
static bool is_best(const struct sampling *d, uint32_t token, uint64_t seed, uint32_t position)
{
    const double temperature = d->test->temperature;
    double best = -INFINITY, found = -INFINITY;
    if (temperature <= 0) {
        return token == d->sorted[0].id;
    }
    for (uint32_t i = 0; i < d->high; i++) {
        struct ref_candidate candidate = d->sorted[i];
        candidate.logit -= d->sorted[0].logit;
        double score = ref_sample_score(&candidate, temperature, seed, position);
        best = score > best ? score : best;
        found = candidate.id == token ? score : found;
        double bound = 1e-5 + 4e-7 * fabs(best);
        if (i + 1 >= d->low && found >= best - bound) {
            return true;
        }
    }
    return false;
}

static bool check_probs(struct kt_run *run, const struct sampling *d,
                        const struct gi_ring_entry *entry)
{
    const uint32_t n_vocab = d->test->n_vocab;
    const uint32_t n = d->test->n_probs < n_vocab ? d->test->n_probs : n_vocab;
    const double total = ref_sample_logsumexp(d->sorted, n_vocab);
    for (uint32_t i = 0; i < n; i++) {
        const double want = d->sorted[i].logit - total;
        const double bound = 1e-5 + 1.2e-7 * fabs(want);
        if (entry->probs[i].id != d->sorted[i].id) {
            return kt_fail(run, "probs[%u]: id %u, expected %u", i, entry->probs[i].id,
                           d->sorted[i].id);
        }
        if (!(fabs((double)entry->probs[i].logprob - want) <= bound)) {
            return kt_fail(run, "probs[%u]: %.8g, expected %.8g", i,
                           (double)entry->probs[i].logprob, want);
        }
    }
    return true;
}

static bool run_seeds(struct kt_run *run, struct sampling *d)
{
    const struct sample_case *test = d->test;
    struct gi_ring_entry entry;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    run->state.min_p = test->min_p;
    run->state.temperature = test->temperature;
    run->state.n_probs = test->n_probs;
    for (uint32_t i = 0; i < N_SEED; i++) {
        const uint64_t seed = (uint64_t)kt_index(run, UINT32_MAX) << 32 | kt_index(run, UINT32_MAX);
        const uint32_t n_past = kt_index(run, 100000);
        run->state.seed_lo = (uint32_t)seed;
        run->state.seed_hi = (uint32_t)(seed >> 32);
        run->state.step = i;
        if (!kt_replay(run, n_past, 1) || !kt_step_entry(run, &d->step, i, &entry)) {
            return false;
        }
        if (entry.status != GI_RING_STATUS_OK || entry.step != i) {
            return kt_fail(run, "status %u, step %u", entry.status, entry.step);
        }
        if (!is_best(d, entry.token, seed, n_past + 1)) {
            return kt_fail(run, "token %u is not the best of %u to %u candidates", entry.token,
                           d->low, d->high);
        }
        if (!check_probs(run, d, &entry)) {
            return false;
        }
    }
    return true;
}

// rows: of the partial results, NULL for 64 neighbours each.
static bool run_case(struct kt_run *run, const struct sample_case *test,
                     const struct kt_partial_rows *rows, kt_step_op op)
{
    const struct kt_partial_rows plain = {64, 1, test->n_vocab};
    struct sampling d = {.test = test};
    float *logits = kt_alloc(test->n_vocab, sizeof(*logits));
    d.sorted = kt_alloc(test->n_vocab, sizeof(*d.sorted));
    for (uint32_t i = 0; i < test->n_vocab; i++) {
        logits[i] = random_logit(run, test->shape, i);
    }
    ref_sample_sort(logits, test->n_vocab, d.sorted);
    d.low = count_kept(&d, 1e-6);
    uint32_t high = count_kept(&d, -1e-6);
    d.high = high > d.low ? high : d.low;
    d.low = high < d.low ? high : d.low;
    bool is_good = kt_step_init_rows(run, &d.step, logits, test->n_vocab, rows ? rows : &plain) &&
                   kt_step_record(run, &d.step, op) && run_seeds(run, &d) &&
                   kt_bench(run, 1, 1, test->n_vocab * sizeof(float));
    free(d.sorted);
    free(logits);
    return is_good;
}

//-- rows of partial results -----------------------------------------------------------------------

// Blocks and parts as gemv_vocab has them, whole ones and others.
static const struct kt_partial_rows layouts[] = {
    {64, 8, 49152}, {64, 8, 20000},  {16, 8, 1008}, {128, 1, 16000},
    {320, 1, 9984}, {320, 1, 49152}, {2, 1, 30000},
};

static const struct sample_case layout_cases[] = {
    {"defaults", 49152, SHAPE_NORMAL, 40, 0.95F, 0.05F, 0.8F, 0},
    {"flat", 20003, SHAPE_FLAT, 90, 0.95F, 0.0F, 0.8F, 0},
    {"min_p", 16001, SHAPE_NORMAL, 0, 1.0F, 0.02F, 1.5F, 0},
};
#define N_LAYOUT      (sizeof(layouts) / sizeof(layouts[0]))
#define N_LAYOUT_CASE (N_LAYOUT * sizeof(layout_cases) / sizeof(layout_cases[0]))

static bool run_layout(struct kt_run *run, size_t index)
{
    const struct sample_case *test = &layout_cases[index / N_LAYOUT];
    return run_case(run, test, &layouts[index % N_LAYOUT],
                    test->top_k > 0 ? gi_op_sample_small_k : gi_op_sample_full);
}

//-- statistics ------------------------------------------------------------------------------------

#define N_SMALL  12
#define N_EPOCHS 8

// Pearson's statistic of 8 seeds times 512 positions; 11 degrees of freedom exceed 36 once in
// 6,000.
static bool run_statistics(struct kt_run *run)
{
    float logits[N_SMALL];
    uint32_t hits[N_SMALL] = {0};
    struct kt_step step;
    kt_fill(run, logits, N_SMALL, -1.5F, 1.5F);
    if (!kt_step_init(run, &step, logits, N_SMALL, 4) ||
        !kt_step_record(run, &step, gi_op_sample_full)) {
        return false;
    }
    run->state.temperature = 0.7F;
    run->state.top_p = 1;
    for (uint32_t i = 0; i < N_EPOCHS; i++) {
        run->state.seed_lo = i;
        if (!kt_step_chain(run, GI_RING_SLOTS)) {
            return false;
        }
        for (uint32_t j = 0; j < GI_RING_SLOTS; j++) {
            struct gi_ring_entry entry;
            if (!kt_step_entry(run, &step, j, &entry) || entry.token >= N_SMALL) {
                return kt_fail(run, "token %u", entry.token);
            }
            hits[entry.token]++;
        }
    }
    double sum = 0, chi = 0;
    for (uint32_t i = 0; i < N_SMALL; i++) {
        sum += exp((double)logits[i] / 0.7);
    }
    for (uint32_t i = 0; i < N_SMALL; i++) {
        double want = N_EPOCHS * GI_RING_SLOTS * exp((double)logits[i] / 0.7) / sum;
        chi += (hits[i] - want) * (hits[i] - want) / want;
    }
    return chi < 36 || kt_fail(run, "chi-square %.1f with 11 degrees of freedom", chi);
}

//-- a chain ---------------------------------------------------------------------------------------

static bool run_small_k_chain(struct kt_run *run)
{
    return kt_step_compare_chain(run, gi_op_sample_small_k, 0);
}

static bool run_full_chain(struct kt_run *run)
{
    return kt_step_compare_chain(run, gi_op_sample_full, 0);
}

static bool run_probs_chain(struct kt_run *run)
{
    return kt_step_compare_chain(run, gi_op_sample_probs, 3);
}

//-- the suite -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    bool (*run)(struct kt_run *run);
} other_cases[] = {
    {"chi-square", run_statistics},
    {"chain, small k", run_small_k_chain},
    {"chain, full", run_full_chain},
    {"chain, probs", run_probs_chain},
};

// The cases in their order: all as they are, more from the whole vocabulary, those of a small
// top_k, all others with one, the layouts, the others.
#define N_CASE        (sizeof(sample_cases) / sizeof(sample_cases[0]))
#define N_FULL        (sizeof(full_cases) / sizeof(full_cases[0]))
#define N_SMALL_K     (sizeof(small_k_cases) / sizeof(small_k_cases[0]))
#define FIRST_SMALL_K (N_CASE + N_FULL)
#define FIRST_LAYOUT  (FIRST_SMALL_K + N_SMALL_K + N_CASE)
#define FIRST_OTHER   (FIRST_LAYOUT + N_LAYOUT_CASE)

static struct sample_case case_at(size_t index)
{
    if (index < N_CASE) {
        return sample_cases[index];
    }
    if (index < FIRST_SMALL_K) {
        return full_cases[index - N_CASE];
    }
    const size_t i = index - FIRST_SMALL_K;
    struct sample_case test = i < N_SMALL_K ? small_k_cases[i] : sample_cases[i - N_SMALL_K];
    test.n_probs = 0;
    test.top_k = test.top_k > 0 && test.top_k < GI_SMALL_K ? test.top_k : GI_SMALL_K;
    return test;
}

static void name_case(size_t index, char *text, size_t size)
{
    if (index < FIRST_LAYOUT) {
        const struct sample_case test = case_at(index);
        snprintf(text, size, "%s%s, %u", index < FIRST_SMALL_K ? "" : "small k: ", test.name,
                 test.n_vocab);
    } else if (index < FIRST_OTHER) {
        const struct kt_partial_rows *rows = &layouts[(index - FIRST_LAYOUT) % N_LAYOUT];
        snprintf(text, size, "%s of rows %u:%u:%u",
                 layout_cases[(index - FIRST_LAYOUT) / N_LAYOUT].name, rows->block_rows,
                 rows->row_step, rows->part_rows);
    } else {
        snprintf(text, size, "%s", other_cases[index - FIRST_OTHER].name);
    }
}

static bool run_index(struct kt_run *run, size_t index)
{
    if (index >= FIRST_OTHER) {
        return other_cases[index - FIRST_OTHER].run(run);
    }
    if (index >= FIRST_LAYOUT) {
        return run_layout(run, index - FIRST_LAYOUT);
    }
    const struct sample_case test = case_at(index);
    return run_case(run, &test, NULL,
                    index >= FIRST_SMALL_K ? gi_op_sample_small_k
                    : test.n_probs > 0     ? gi_op_sample_probs
                                           : gi_op_sample_full);
}

const struct kt_suite kt_sample = {
    .kernel = "sample",
    .n_case = FIRST_OTHER + sizeof(other_cases) / sizeof(other_cases[0]),
    .name = name_case,
    .run = run_index,
};
