// Attention of a step, in every form that devices have, and of a batch.
#include "gpu/device/gpu_private.h"
#include "ops/gemm/half_rows.h"
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attention_case {
    struct kt_layer_shape shape;
    uint32_t n_tokens, n_past; // n_tokens: of a batch; of steps, the number of them
    uint32_t window;           // 0: none
    float softcap;             // 0: none
    uint32_t after;            // of a batch
    float max_bias;            // 0: none
} step_cases[] = {
    {{9, 3, 64, 64, F16, F16}, 1, 0, 0, 0, 0, 0},
    {{9, 3, 64, 64, F16, F16}, 3, 1, 0, 0, 0, 0},
    {{4, 4, 80, 129, F32, F16}, 2, 63, 0, 0, 0, 0},
    {{8, 1, 96, 200, F16, F32}, 2, 64, 0, 0, 0, 0},
    {{9, 3, 64, 512, F32, F32}, 3, 127, 0, 0, 0, 0},
    {{9, 3, 64, 512, F16, F16}, 3, 500, 0, 0, 0, 0},
    {{14, 2, 128, 2200, F16, F16}, 2, 2000, 0, 0, 0, 0},
    {{8, 1, 256, 2200, F32, F16}, 2, 2000, 0, 0, 0, 0},
    {{2, 1, 512, 300, F16, F16}, 2, 200, 100, 0, 0, 0},
    {{3, 1, 8, 600, F16, F16}, 2, 400, 0, 0, 0, 0},
    {{9, 3, 64, 2200, F16, F16}, 2, 2000, 0, 0, 0, 0},
    {{9, 3, 64, 8192, F16, F16}, 1, 8191, 0, 0, 0, 0},
    {{9, 3, 64, 512, F16, F16}, 3, 255, 100, 0, 0, 0},
    {{4, 1, 64, 1024, F16, F16}, 3, 900, 300, 5, 0, 0},
    {{8, 1, 80, 600, F32, F32}, 2, 511, 512, 20, 0, 0},
    {{4, 4, 80, 129, F32, F16}, 2, 63, 0, 2, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 2, 1023, 0, 0, 0, 0},
    {{7, 1, 64, 700, F16, F32}, 2, 520, 700, 0, 0, 0},
    {{9, 3, 64, 512, Q8, Q8}, 3, 500, 0, 0, 0, 0},
    {{4, 4, 80, 129, Q8, Q8}, 2, 63, 0, 2, 0, 0},
    {{8, 1, 64, 200, Q8, F16}, 2, 64, 0, 0, 0, 0},
    {{3, 1, 8, 600, Q8, Q8}, 2, 400, 0, 0, 0, 0},
    {{9, 3, 64, 512, Q4, Q4}, 3, 500, 0, 0, 0, 0},
    {{4, 4, 80, 129, Q4, Q4}, 2, 63, 0, 2, 0, 0},
    {{14, 2, 64, 700, Q8, Q4}, 2, 600, 100, 0, 0, 0},
    {{3, 1, 8, 600, Q4, Q4}, 2, 400, 0, 0, 0, 0},
    {{7, 1, 128, 300, F16, F16}, 2, 100, 0, 0, 0, 0},
    {{9, 3, 64, 8192, F16, F16}, 1, 8191, 500, 0, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 1, 30, 0, 0, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 1, 127, 0, 0, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 1, 255, 0, 0, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 1, 2175, 0, 0, 0, 0},
    // For benches only.
    {{16, 8, 128, 2200, F16, F16}, 1, 2047, 0, 0, 0, 0},
    {{32, 8, 128, 2200, F16, F16}, 1, 500, 0, 0, 0, 0},
    {{32, 8, 128, 2200, F16, F16}, 1, 2047, 0, 0, 0, 0},
    {{32, 8, 128, 2200, F32, F16}, 1, 2047, 0, 0, 0, 0},
    {{32, 8, 128, 8192, F16, F16}, 1, 8191, 0, 0, 0, 0},
    {{32, 8, 64, 8192, F16, F16}, 1, 8191, 0, 0, 0, 0},
    {{32, 8, 64, 8192, F16, F16}, 1, 8191, 500, 0, 0, 0},
};
#define N_BENCH 7

static void print_case(const struct attention_case *c, char *text, size_t size)
{
    const int n = kt_layer_print(&c->shape, text, size);
    snprintf(text + n, size - (size_t)n,
             ", %u tokens at %u of %u, window %u, cap %g, %u after, ALiBi %g", c->n_tokens,
             c->n_past, c->shape.n_ctx, c->window, (double)c->softcap, c->after,
             (double)c->max_bias);
}

// Cases of a window or a cap have sinks, too.
static struct gi_score_rule rule_of(struct kt_run *run, const struct attention_case *c)
{
    const bool has_sinks = c->window > 0 || c->softcap > 0;
    return (struct gi_score_rule){
        .scale = 1.0f / sqrtf((float)c->shape.head_dim),
        .softcap = c->softcap,
        .window = c->window,
        .after = c->after,
        .max_bias = c->max_bias,
        .has_sinks = has_sinks,
        .vectors = has_sinks ? kt_random_vectors(run, c->shape.n_head).range : (struct gi_range){0},
    };
}

//-- steps -----------------------------------------------------------------------------------------

// Returns how many layers alike a bench replays in turn, so that no cache holds them.
static uint32_t count_layers(const struct kt_run *run, const struct gi_kv_layer *layer)
{
    enum { BENCH_BYTES = 200000000, MOST_LAYERS = 40 };
    const uint32_t n = BENCH_BYTES / (uint32_t)layer->range.size;
    return !run->is_bench || n < 1 ? 1 : n > MOST_LAYERS ? MOST_LAYERS : n;
}

static bool run_steps(struct kt_run *run, size_t index)
{
    const struct attention_case *c = &step_cases[index];
    if (index >= COUNT(step_cases) - N_BENCH && kt_leave_out(run)) {
        return true;
    }
    struct gi_kv_layer layer = kt_layer(run, &c->shape, 0);
    const struct gi_attention_scratch scratch = kt_make_scratch(run, &layer, 0);
    const struct gi_score_rule rule = rule_of(run, c);
    run->n_copy = count_layers(run, &layer);
    for (uint32_t i = 0; !run->has_failed && i < run->n_copy; i++) {
        layer = i == 0 ? layer : kt_layer(run, &c->shape, 0);
        gi_op_attention(&run->recorder, "attention", &layer, &rule, &scratch);
    }
    bool is_good = !run->has_failed && kt_seal(run);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        kt_layer_write_q(run, &layer);
        is_good = kt_check(run, c->n_past + m, 1);
    }
    const uint64_t n = (uint64_t)c->shape.n_kv_head * c->shape.head_dim * (c->n_past + 1);
    return is_good && kt_bench(run, c->n_past, 1, n * 4 * run->n_copy);
}

static void name_step(size_t index, char *text, size_t size)
{
    print_case(&step_cases[index], text, size);
}

const struct kt_suite kt_attention = {"attention", COUNT(step_cases), name_step, run_steps};

// Groups that take heads together, in the shapes of classes.
static const struct gi_attention_shape shapes[] = {
    {64, 4, 1, 32, false},
    {64, 3, 1, 12, true},
    {32, 4, 4, 16, true},
    {64, 2, 2, 1, false},
};

static void name_heads(size_t index, char *text, size_t size)
{
    const struct gi_attention_shape *shape = &shapes[index % COUNT(shapes)];
    const int n = snprintf(text, size, "%u invocations, %u heads, %u keys, ", shape->wg_size,
                           shape->heads, shape->keys);
    name_step(index / COUNT(shapes), text + n, size - (size_t)n);
}

static bool run_heads(struct kt_run *run, size_t index)
{
    const struct gi_attention_shape *shape = &shapes[index % COUNT(shapes)];
    const struct gi_device_class *class = gi_gpu_class(run->gpu);
    // Mali T has heads in small groups that are too large to be together.
    struct gi_device_class joint =
        shape->wg_size == 32 ? *gi_device_class_find("Mali-T", "Mesa") : *class;
    joint.attention = *shape;
    if (shape->has_dots) { // projections that want sums
        joint.gemv = gi_device_class_find("V3D", "Mesa")->gemv;
    }
    run->gpu->class = &joint;
    const bool is_good = run_steps(run, index / COUNT(shapes));
    run->gpu->class = class;
    return is_good;
}

const struct kt_suite kt_attention_heads = {"attention_heads", COUNT(shapes) * COUNT(step_cases),
                                            name_heads, run_heads};

// Groups of a persistent step: of two sizes, and with more and fewer of them.
static const struct gi_list_form forms[] = {{256, 132}, {128, 20}, {256, 5}};

static void name_form(size_t index, char *text, size_t size)
{
    const struct gi_list_form *form = &forms[index % COUNT(forms)];
    const int n = snprintf(text, size, "%u groups of %u, ", form->n_groups, form->group_size);
    name_step(index / COUNT(forms), text + n, size - (size_t)n);
}

static bool run_form(struct kt_run *run, size_t index)
{
    run->recorder.form = forms[index % COUNT(forms)];
    return run_steps(run, index / COUNT(forms));
}

const struct kt_suite kt_attention_vec8 = {"attention_vec8", COUNT(forms) * COUNT(step_cases),
                                           name_form, run_form};

//-- batches ---------------------------------------------------------------------------------------

// Heads of 64 and more compile for seconds in most forms, so that they are few: rules and types of
// the cache are tested with smaller ones, and each size with some of the forms. In rows, 80 takes
// the way of 96, and 272 that of 512.
static const struct attention_case batch_cases[] = {
    {{9, 3, 64, 64, F16, F16}, 1, 0, 0, 0, 0, 0},
    {{9, 3, 64, 64, F16, F16}, 2, 1, 0, 0, 0, 0},
    {{2, 1, 512, 600, F16, F16}, 33, 500, 0, 0, 0, 0},
    {{2, 1, 272, 600, F16, F16}, 33, 500, 0, 0, 0, 0},
    {{9, 3, 64, 300, F16, F16}, 300, 0, 0, 0, 0, 0},
    {{3, 1, 64, 1536, F16, F16}, 96, 1000, 0, 0, 0, 0},
    {{4, 4, 80, 128, F32, F16}, 7, 63, 0, 0, 0, 0},
    {{14, 2, 128, 600, F32, F32}, 32, 500, 0, 0, 0, 0},
    {{8, 1, 256, 300, F16, F16}, 33, 200, 0, 0, 0, 0},
    {{3, 1, 8, 300, F16, F16}, 128, 64, 0, 0, 0, 0},
    {{9, 3, 32, 300, F16, F16}, 40, 200, 17, 0, 0, 0},
    {{4, 1, 32, 300, F32, F16}, 31, 100, 64, 5, 0, 0},
    {{8, 2, 96, 600, F16, F32}, 128, 300, 128, 0, 0, 0},
    {{4, 2, 80, 128, F16, F16}, 70, 0, 0, 2, 0, 0},
    {{9, 3, 32, 300, Q8, Q8}, 40, 200, 0, 0, 0, 0},
    {{8, 2, 32, 200, F16, Q8}, 33, 100, 0, 0, 0, 0},
    {{4, 1, 128, 200, Q8, Q8}, 9, 100, 0, 5, 0, 0},
    {{3, 1, 8, 300, Q8, Q8}, 40, 64, 0, 0, 0, 0},
    {{9, 3, 32, 300, Q4, Q4}, 40, 200, 0, 0, 0, 0},
    {{4, 2, 48, 128, Q4, Q8}, 70, 0, 17, 0, 0, 0},
    {{3, 1, 8, 300, Q4, Q4}, 40, 64, 0, 0, 0, 0},
    {{12, 12, 16, 64, F16, F16}, 1, 0, 0, 0, 512, 0},
    {{12, 12, 16, 512, F16, F16}, 70, 0, 0, 0, 512, 0},
    {{4, 1, 16, 300, F16, F16}, 200, 0, 9, 0, 8, 0},
    {{3, 1, 16, 300, F16, F16}, 150, 0, 65, 0, 64, 0},
    {{12, 12, 16, 200, F16, F16}, 130, 0, 0, 0, 200, 8},
    {{4, 4, 16, 200, F16, F16}, 40, 100, 17, 0, 16, 8},
};

static const char *const batch_shapes[] = {"split", "lane", "row", "rolled"}; // of GLINFER_BATCH

// Classes whose blocks differ: of two tokens, of four with two keys, of four with three.
static const char *const lane_gpus[] = {"Mali-T", "V3D", "Mali-G52"};

// Sets GLINFER_BATCH; rolled is split on a class of GPUs of processors with is_rolled and groups of
// 512 for narrow heads, lane that of a GPU of lane_gpus by `number`. is_wide: any number of groups
// fills the device.
static bool set_batch_shape(struct kt_run *run, const char *shape, uint32_t number, bool is_wide)
{
    static struct gi_device_class class;
    static uint32_t wave_groups;
    const bool is_rolled = strcmp(shape, "rolled") == 0, is_lane = strcmp(shape, "lane") == 0;
    if (!class.name) {
        class = *gi_gpu_class(run->gpu);
        wave_groups = class.wave_groups;
    }
    class.wave_groups = is_wide ? 1 : wave_groups;
    class.is_rolled = is_rolled;
    class.tall_head_dim = is_rolled ? 64 : 0;
    class.gemm_tile = is_rolled ? GI_GEMM_TILE_THIN : GI_GEMM_TILE_WHOLE;
    run->gpu->class =
        is_lane ? gi_device_class_find(lane_gpus[number % COUNT(lane_gpus)], "Mesa") : &class;
    return kt_set(run, "GLINFER_BATCH", is_rolled ? "split" : shape);
}

static void name_batch(size_t index, char *text, size_t size)
{
    const int n = snprintf(text, size, "%s, ", batch_shapes[index % COUNT(batch_shapes)]);
    print_case(&batch_cases[index / COUNT(batch_shapes)], text + n, size - (size_t)n);
}

// Fills rows of q with small values and one large one in each head, whose place differs by token.
static void write_peaks(struct kt_run *run, const struct gi_rows *q, uint32_t n_tokens,
                        uint32_t head_dim, float limit)
{
    const size_t n = (size_t)n_tokens * q->stride;
    float *values = kt_alloc(n, sizeof(*values));
    kt_fill(run, values, n, -1e-5F * limit, 1e-5F * limit);
    for (uint32_t i = 0; i < n_tokens; i++) {
        for (uint32_t head = 0; head < q->stride; head += head_dim) {
            values[(size_t)i * q->stride + head + i % head_dim] = limit;
        }
    }
    kt_write(run, &q->range, 0, values, n * sizeof(*values));
    free(values);
}

// Results in f16 (ops/gemm/half_rows.h), in groups of 32 tokens where those of 64 would be few.
#define HALF_CASES(is_wide)                                                                        \
    {{{1, 1, 64, 200, F16, F16}, 1, 3, 0, 0, 0, 0}, 0, false, is_wide},                            \
        {{{3, 1, 64, 200, F16, F16}, 130, 3, 0, 0, 0, 0}, 0, false, is_wide},                      \
        {{{2, 1, 128, 200, F16, F16}, 70, 3, 0, 0, 0, 0}, 0, false, is_wide},                      \
        {{{2, 1, 64, 200, F16, F16}, 33, 167, 0, 0, 0, 0}, 0, false, is_wide},                     \
        {{{1, 1, 64, 200, F16, F16}, 70, 60, 17, 5, 0, 0}, 0, false, is_wide},                     \
        {{{3, 1, 128, 200, F16, F16}, 40, 130, 0, 20, 0, 0}, 0, false, is_wide},                   \
        {{{2, 1, 64, 200, F16, F16}, 190, 3, 0, 0, 0, 0}, 256, false, is_wide},                    \
        {{{2, 1, 128, 200, F16, F16}, 130, 3, 0, 0, 0, 0}, 0, true, is_wide},

static const struct half_case {
    struct attention_case batch;
    uint32_t n_spare; // columns after those of out
    bool has_peaks;   // of q: write_peaks()
    bool is_wide;     // groups of 64 tokens
} half_cases[] = {HALF_CASES(false) HALF_CASES(true)};

// Records attention of a batch in a form of GLINFER_BATCH. half: the case of results in f16; NULL:
// they are in f32.
static bool check_batch(struct kt_run *run, const struct attention_case *c, const char *shape,
                        const struct half_case *half)
{
    const uint32_t width = c->shape.n_head * c->shape.head_dim;
    const uint32_t stride = width + (half ? half->n_spare : 0);
    const struct gi_kv_layer layer = kt_layer(run, &c->shape, 0);
    const struct gi_score_rule rule = rule_of(run, c);
    const struct gi_rows q = kt_random_rows(run, "q", c->n_tokens, width, kt_layer_q_limit(&layer));
    const bool is_set = set_batch_shape(run, shape, c->n_tokens, half && half->is_wide);
    if (half && !gi_attention_has_halves(&run->recorder, &layer)) {
        return true;
    }
    if (half && half->has_peaks) {
        write_peaks(run, &q, c->n_tokens, c->shape.head_dim, kt_layer_q_limit(&layer));
    }
    const size_t size = (size_t)gi_half_rows_size(c->n_tokens, stride);
    const struct gi_rows out =
        half ? (struct gi_rows){kt_range(run, "out", NULL, size), stride, true}
             : kt_rows(run, "out", NULL, c->n_tokens, width);
    gi_op_attention_batch(&run->recorder, "attention_batch", &layer, &rule, &q, &out);
    return is_set && kt_seal(run) && kt_check(run, c->n_past, c->n_tokens) &&
           kt_bench(run, c->n_past, c->n_tokens, 2 * out.range.size);
}

// Returns true if other forms have heads of the size, and this form has others of such a size.
static bool is_spared(const struct attention_case *c, const char *shape)
{
    const uint32_t size = c->shape.head_dim;
    const bool is_row = strcmp(shape, "row") == 0, is_f16 = c->shape.type_k == F16;
    if (size > 128) {
        return is_row != (size == 272) || (strcmp(shape, "rolled") == 0 && size != 512);
    }
    return size >= 96 && (is_row || (strcmp(shape, "rolled") == 0) != is_f16);
}

static bool run_batch(struct kt_run *run, size_t index)
{
    const struct attention_case *c = &batch_cases[index / COUNT(batch_shapes)];
    const char *shape = batch_shapes[index % COUNT(batch_shapes)];
    return (is_spared(c, shape) && kt_leave_out(run)) || check_batch(run, c, shape, NULL);
}

const struct kt_suite kt_attention_batch = {
    "attention_batch", COUNT(batch_cases) * COUNT(batch_shapes), name_batch, run_batch};

static void print_half(const struct half_case *c, char *text, size_t size)
{
    const int n = snprintf(text, size, "%s, ", c->is_wide ? "64 tokens" : "32 tokens");
    print_case(&c->batch, text + n, size - (size_t)n);
}

static bool run_half(struct kt_run *run, const struct half_case *c)
{
    return check_batch(run, &c->batch, "split", c);
}

KT_TABLE(attention_half, "attention_half", half_cases, print_half, run_half);
