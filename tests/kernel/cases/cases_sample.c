// The choice of a token by argmax and by sampling, log-probabilities, and the end of a step.
#include "tests/kernel/cases/cases_step.h"
#include "tests/kernel/fixture/kernel_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- logits ----------------------------------------------------------------------------------------

enum shape {
    SHAPE_NORMAL, // a bell of width 3
    SHAPE_FLAT,   // nearly equal, all different
    SHAPE_EQUAL,
    SHAPE_TIES,     // five values
    SHAPE_SPIKE,    // one dominates
    SHAPE_WIDE,     // far apart
    SHAPE_HUGE,     // all of f32
    SHAPE_ZEROS,    // zeros of both signs and denormals
    SHAPE_STEPS,    // ties around every cut, falling slowly
    SHAPE_BELL,     // a bell of width 1, as random weights give
    SHAPE_NARROW,   // a bell of width 1/16
    SHAPE_COPIES,   // all but equal every 2,048
    SHAPE_BINS,     // ten to a bin of full_bins, a unit apart
    SHAPE_NEGATIVE, // near the least of f32
    SHAPE_NAN,
    SHAPE_INFINITE,
    N_SHAPE,
    N_SAMPLED_SHAPE = SHAPE_NEGATIVE
};
static const char *const shape_names[] = {
    "normal", "flat", "equal",  "ties",   "spike", "wide",     "huge",    "zeros",
    "steps",  "bell", "narrow", "copies", "bins",  "negative", "one nan", "one infinite"};

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
    const uint32_t n_steps = i / 10;
    switch (shape) {
    case SHAPE_NORMAL:
        return 8 + 3 * random_bell(run);
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
    case SHAPE_BINS:
        return -(float)n_steps;
    case SHAPE_NEGATIVE:
        return kt_uniform(run, -3.1e38F, -2.9e38F);
    default:
        return random_bell(run);
    }
}

// Blocks and parts as gemv_vocab has them, whole ones and others; of the last two some invocations
// have no rows.
static const struct kt_partial_rows layouts[] = {
    {64, 1, 0},     {64, 8, 49152},  {64, 8, 20000}, {16, 8, 1008}, {128, 1, 16000},
    {320, 1, 9984}, {320, 1, 49152}, {2, 1, 30000},  {7, 1, 0},
};

// Makes a step of random logits.
static bool init_step(struct kt_run *run, struct kt_step *step, enum shape shape, uint32_t n_vocab,
                      uint32_t layout)
{
    float *logits = kt_alloc(n_vocab, sizeof(*logits));
    for (uint32_t i = 0; i < n_vocab; i++) {
        logits[i] = random_logit(run, shape, i);
    }
    if (shape == SHAPE_NAN || shape == SHAPE_INFINITE) {
        logits[kt_index(run, n_vocab)] = shape == SHAPE_NAN ? NAN : INFINITY;
    }
    const bool is_good =
        kt_step_init(run, step, logits, n_vocab, &layouts[layout % COUNT(layouts)]);
    free(logits);
    return is_good;
}

static void next_step(struct kt_run *run, uint32_t i)
{
    run->state.step = i;
}

static const struct {
    const char *name;
    kt_step_op op;
} ops[] = {
    {"full", gi_op_sample_full},
    {"probs", gi_op_sample_probs},
    {"small k", gi_op_sample_small_k},
    {"argmax", gi_op_argmax},
};
static const char *const op_names[] = {"full", "probs", "small k", "argmax"};
enum { OP_FULL, OP_PROBS, OP_SMALL_K, OP_ARGMAX };

//-- argmax ----------------------------------------------------------------------------------------

static uint64_t record_argmax(struct kt_run *run, const uint32_t *v)
{
    struct kt_step step;
    if (init_step(run, &step, (enum shape)v[1], v[0], v[0] + v[1])) {
        gi_op_argmax(&run->recorder, &step.logits, &step.buffers);
    }
    return step.logits.n_partial * UINT64_C(8);
}

static const struct kt_axis argmax_axes[] = {
    KT_NUMBERS("vocabulary", 1, 2, 3, 67, 255, 257, 1000, 49152, 151936, 262144),
    KT_NAMED("values", N_SHAPE, shape_names)};
KT_DESCRIBE(argmax, argmax_axes);

//-- filters ---------------------------------------------------------------------------------------

// A top_k of all tokens, and of all but one.
#define ALL         UINT32_MAX
#define ALL_BUT_ONE (UINT32_MAX - 1)

struct filter {
    uint32_t top_k;
    float top_p, min_p, temperature;
};

static const struct filter filters[] = {
    {0, 0.95F, 0, 0.8F},    {40, 0.95F, 0.05F, 0.8F}, {40, 1, 0, 0.8F},
    {40, 0, 0, 1},          {1, 1, 0, 0.8F},          {2, 1, 0, 1},
    {7, 1, 0, 1.5F},        {25, 0.8F, 0, 1},         {64, 0.99F, 0, 1},
    {112, 0.9F, 0, 1.5F},   {250, 0.95F, 0, 1.5F},    {500, 0.99F, 0, 2000},
    {1000, 1, 0, 2},        {1000, 0.5F, 0, 2},       {2000, 1, 0.05F, 1},
    {3000, 0.9F, 0, 1},     {5000, 0.95F, 0.01F, 2},  {20000, 0.9F, 0.3F, 1.3F},
    {ALL_BUT_ONE, 1, 0, 1}, {ALL, 1, 0, 1},           {0, 1, 0, 0.8F},
    {0, 1, 0, 50},          {0, 1, 0.05F, 0.8F},      {0, 1, 1, 1},
    {0, 1e-9F, 0, 1},       {0, 0.01F, 0, 1},         {0, 0.5F, 0, 1},
    {0, 0.9F, 0, 1.2F},     {0, 0.95F, 0.02F, 1.5F},  {0, 0.999F, 0, 1},
    {0, 0.99999F, 0, 1},    {40, 0.95F, 0.05F, 0},
};

static const char *filter_name(uint32_t i)
{
    static char text[80];
    const struct filter *f = &filters[i];
    snprintf(text, sizeof(text), "top_k %d, top_p %g, min_p %g, temperature %g", (int32_t)f->top_k,
             (double)f->top_p, (double)f->min_p, (double)f->temperature);
    return text;
}

// Sizes are combined with values and filters in turn; those of whole models, which take long, come
// at every eleventh.
static uint64_t record_sample(struct kt_run *run, const uint32_t *v)
{
    static const uint32_t sizes[] = {8003, 130, 32001, 3, 700, 200, 2051, 1, 16384};
    static const uint32_t large_sizes[] = {128256, 49152, 262144};
    static const uint32_t n_probs[] = {1, 3, 10, 64};
    const struct filter *f = &filters[v[1]];
    const uint32_t turn = 3 * v[1] + v[2];
    const uint32_t n_vocab =
        turn % 11 ? sizes[turn % COUNT(sizes)] : large_sizes[turn / 11 % COUNT(large_sizes)];
    struct gi_step_state *state = &run->state;
    struct kt_step step;
    if (!init_step(run, &step, (enum shape)v[2], n_vocab, v[1] + v[2])) {
        return 0;
    }
    state->top_k = f->top_k < ALL_BUT_ONE ? f->top_k : n_vocab - (ALL - f->top_k);
    if (v[0] == OP_SMALL_K && (state->top_k == 0 || state->top_k > GI_SMALL_K)) {
        state->top_k = GI_SMALL_K;
    }
    state->top_p = f->top_p;
    state->min_p = f->min_p;
    state->temperature = f->temperature;
    state->n_probs = v[0] == OP_PROBS ? n_probs[v[1] % COUNT(n_probs)] : 0;
    state->n_past = kt_index(run, 100000);
    state->n_tokens = 1;
    state->n_shifted = v[1] % 2 * 77;
    ops[v[0]].op(&run->recorder, &step.logits, &step.buffers);
    return n_vocab * sizeof(float);
}

static const struct kt_axis sample_axes[] = {
    KT_NAMED("op", 3, op_names),
    KT_CHOICES("filter", filter_name, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
               18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
    KT_NAMED("values", N_SAMPLED_SHAPE, shape_names)};
KT_DESCRIBE_REPEATED(sample, sample_axes, 2, next_step);

//-- the end of a step -----------------------------------------------------------------------------

// So cold that the token is sure.
static const struct filter sure_filters[] = {
    {0, 1, 0, 0},        {2, 1, 0, -1},    {1, 1, 0, 1},        {5, 0.9F, 0, 0.01F},
    {0, 0.9F, 0, 0.01F}, {2, 1, 0, 0.01F}, {2, 0.9F, 0, 0.01F}, {0, 1, 0, 0.01F}};
static const char *const sure_names[] = {"greedy", "greedy of two", "top_k 1", "top_k and top_p",
                                         "top_p",  "top_k 2",       "both",    "all"};

// The token that is best is the last of the stop ids, or the one after them, which does not count.
enum end { END_STOP, END_NO_STOP, END_BANNED, END_LAST, END_DONE, END_NAN, END_NO_COUNTS, N_END };
static const char *const end_names[] = {"stop id",     "past the stop ids", "banned",   "last step",
                                        "done before", "one infinite",      "no counts"};

static uint64_t record_step_end(struct kt_run *run, const uint32_t *v)
{
    static const uint32_t steps[] = {0, 1, GI_RING_SLOTS - 1, GI_RING_SLOTS, 2 * GI_RING_SLOTS + 3};
    static const uint32_t pasts[] = {0, 41, 62, 63, 199, 100000};
    const struct filter *f = &sure_filters[v[1]];
    const enum end end = (enum end)v[2];
    const uint32_t n_stop = v[3] > 0 && end == END_NO_STOP ? v[3] - 1 : v[3];
    struct gi_step_state *state = &run->state;
    struct kt_step step;
    float logits[40];
    for (uint32_t i = 0; i < COUNT(logits); i++) {
        logits[i] = (float)(i * 7 % COUNT(logits)); // the best: 17, 34, 11, 28 ...
    }
    logits[5] = end == END_NAN ? INFINITY : logits[5];
    if (!kt_step_init(run, &step, logits, COUNT(logits), &layouts[8])) {
        return 0;
    }
    for (uint32_t i = 0; i < GI_MAX_STOP_IDS; i++) { // from the best on
        state->stop[i] = i < v[3] ? (17 + 17 * (v[3] - 1 - i)) % COUNT(logits) : 100 + i;
    }
    state->n_stop = n_stop;
    state->ban_stop = end == END_BANNED;
    state->step = steps[v[3] % COUNT(steps)];
    state->max_steps = state->step + (end == END_LAST ? 1 : 2);
    state->done = end == END_DONE;
    state->top_k = f->top_k;
    state->top_p = f->top_p;
    state->temperature = f->temperature;
    state->n_probs = v[0] == OP_PROBS ? 2 : 0;
    state->n_past = pasts[v[3] % COUNT(pasts)];
    state->n_tokens = 1 + v[3] % 3;
    if (v[0] == OP_SMALL_K && state->top_k == 0) {
        state->top_k = GI_SMALL_K;
    }
    if (end == END_NO_COUNTS) {
        step.buffers.counts = (struct gi_range){0}; // of a table that is always direct
    }
    ops[v[0]].op(&run->recorder, &step.logits, &step.buffers);
    return sizeof(logits);
}

static const struct kt_axis end_axes[] = {
    KT_NAMED("op", 4, op_names), KT_NAMED("filter", COUNT(sure_filters), sure_names),
    KT_NAMED("end", N_END, end_names),
    KT_NUMBERS("stop ids", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)};
KT_DESCRIBE(step_end, end_axes);
