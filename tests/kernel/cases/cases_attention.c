// Attention, against its formula in double; decode against batch.
#include "gpu/device/gpu_private.h"
#include "ops/attention/attention.h"
#include "ops/gemm/batch.h"
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_qkv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// n_tokens is the number of steps in a row.
static const struct kt_attention_case attention_cases[] = {
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
    {{8, 1, 256, 600, F32, F32}, 2, 511, 512, 20, 0, 0},
    {{4, 4, 80, 129, F32, F16}, 2, 63, 0, 2, 0, 0},
    {{32, 8, 64, 2200, F16, F16}, 2, 1023, 0, 0, 0, 0},
    {{7, 1, 64, 700, F16, F32}, 2, 520, 700, 0, 0, 0},
    {{9, 3, 64, 512, Q8, Q8}, 3, 500, 0, 0, 0, 0},
    {{4, 4, 80, 129, Q8, Q8}, 2, 63, 0, 2, 0, 0},
    {{8, 1, 64, 200, Q8, F16}, 2, 64, 0, 0, 0, 0},
    {{3, 1, 8, 600, Q8, Q8}, 2, 400, 0, 0, 0, 0},
    {{9, 3, 64, 512, Q4, Q4}, 3, 500, 0, 0, 0, 0},
    {{4, 4, 80, 129, Q4, Q4}, 2, 63, 0, 2, 0, 0},
    {{14, 2, 128, 700, Q8, Q4}, 2, 600, 100, 0, 0, 0},
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

static bool is_left_out(struct kt_run *run, size_t index)
{
    return index >= COUNT(attention_cases) - N_BENCH && kt_leave_out(run);
}

static void attention_name(size_t index, char *text, size_t size)
{
    kt_attention_text(&attention_cases[index], text, size);
}

// One step: token m's q in front of the cache.
static bool run_step(struct kt_run *run, const struct kt_attention_run *a, uint32_t m)
{
    size_t size = a->width * sizeof(float);
    return kt_write(run, &a->layer.kv.range, 0, a->q + (size_t)m * a->width, size) &&
           kt_replay(run, a->c->n_past + m, 1);
}

// Bytes that the layers of a bench take together, so that no cache holds them, and how many they
// are at most.
#define BENCH_BYTES  200000000u
#define BENCH_LAYERS 40

static void record_attention(struct kt_run *run, const struct kt_attention_run *a,
                             struct gi_range range, const struct gi_attention_scratch *scratch)
{
    struct gi_kv_layer kv = a->layer.kv;
    kv.range = range;
    gi_op_attention(&run->recorder, "attention", &kv, &a->rule, scratch);
}

// For a bench, other layers alike before the one whose result is checked.
static bool record_copies(struct kt_run *run, const struct kt_attention_run *a,
                          const struct gi_attention_scratch *scratch)
{
    const uint32_t n = BENCH_BYTES / (uint32_t)a->layer.size;
    run->n_copy = !run->is_bench || n < 1 ? 1 : n > BENCH_LAYERS ? BENCH_LAYERS : n;
    for (uint32_t i = 1; i < run->n_copy; i++) {
        struct gi_range range = kt_range(run, "layer", a->layer.words, (size_t)a->layer.size);
        if (run->has_failed) {
            return false;
        }
        record_attention(run, a, range, scratch);
    }
    return true;
}

static bool check_attention(struct kt_run *run, size_t index)
{
    struct kt_attention_run a;
    if (is_left_out(run, index)) {
        return true;
    }
    kt_attention_init(&a, run, &attention_cases[index]);
    struct gi_attention_scratch scratch = kt_make_scratch(run, &a.layer.kv);
    bool is_good = !run->has_failed && record_copies(run, &a, &scratch);
    if (is_good) {
        record_attention(run, &a, a.layer.kv.range, &scratch);
    }
    is_good = is_good && kt_seal(run);
    for (uint32_t m = 0; is_good && m < a.c->n_tokens; m++) {
        is_good = run_step(run, &a, m) && kt_attention_check(run, &a, m, &scratch.range, 0) &&
                  (!gi_attention_has_sums(&run->recorder, &a.layer.kv) ||
                   kt_check_sums(run, &scratch.range, a.width));
    }
    uint64_t n = (uint64_t)a.c->shape.n_kv_head * a.c->shape.head_dim * (a.c->n_past + 1);
    is_good = is_good && kt_bench(run, a.c->n_past, 1, n * 4 * run->n_copy);
    kt_attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention = {"attention", COUNT(attention_cases), attention_name,
                                      check_attention};

// Groups that take heads together, in the shapes of classes.
static const struct gi_attention_shape joint_shapes[] = {
    {64, 4, 1, 32, false},
    {64, 3, 1, 12, true},
    {32, 4, 4, 16, true},
    {64, 2, 2, 1, false},
};

static void joint_name(size_t index, char *text, size_t size)
{
    const size_t i = index % COUNT(joint_shapes);
    int n = snprintf(text, size, "%u invocations, %u heads, %u keys, ", joint_shapes[i].wg_size,
                     joint_shapes[i].heads, joint_shapes[i].keys);
    kt_attention_text(&attention_cases[index / COUNT(joint_shapes)], text + n, size - (size_t)n);
}

static bool run_joint(struct kt_run *run, size_t index)
{
    const size_t i = index % COUNT(joint_shapes);
    const struct gi_device_class *class = gi_gpu_class(run->gpu);
    // Mali T has heads in small groups that are too large to be together.
    struct gi_device_class joint =
        joint_shapes[i].wg_size == 32 ? *gi_device_class_find("Mali-T", "Mesa") : *class;
    joint.attention = joint_shapes[i];
    if (joint.attention.has_dots) { // projections that want sums
        joint.gemv = gi_device_class_find("V3D", "Mesa")->gemv;
    }
    run->gpu->class = &joint;
    const bool is_good = check_attention(run, index / COUNT(joint_shapes));
    run->gpu->class = class;
    return is_good;
}

const struct kt_suite kt_attention_heads = {
    "attention_heads", COUNT(joint_shapes) * COUNT(attention_cases), joint_name, run_joint};

// Groups of a persistent step: of two sizes, and with more and fewer of them.
static const struct {
    uint32_t group_size, n_groups;
} persistent_groups[] = {
    {256, 132},
    {128, 20},
    {256, 5},
};

static void persistent_name(size_t index, char *text, size_t size)
{
    const size_t i = index % COUNT(persistent_groups);
    int n = snprintf(text, size, "%u groups of %u, ", persistent_groups[i].n_groups,
                     persistent_groups[i].group_size);
    kt_attention_text(&attention_cases[index / COUNT(persistent_groups)], text + n,
                      size - (size_t)n);
}

static bool run_persistent(struct kt_run *run, size_t index)
{
    run->recorder.form.group_size = persistent_groups[index % COUNT(persistent_groups)].group_size;
    run->recorder.form.n_groups = persistent_groups[index % COUNT(persistent_groups)].n_groups;
    return check_attention(run, index / COUNT(persistent_groups));
}

const struct kt_suite kt_attention_vec8 = {"attention_vec8",
                                           COUNT(persistent_groups) * COUNT(attention_cases),
                                           persistent_name, run_persistent};

// A table of direct grids gives the same bits as one of indirect grids, where the device has those.
static bool replay_table(struct kt_run *run, const struct kt_attention_run *a,
                         const struct gi_attention_scratch *scratch, float *out)
{
    size_t size = a->width * sizeof(float);
    gi_op_attention(&run->recorder, "attention", &a->layer.kv, &a->rule, scratch);
    return kt_seal(run) && run_step(run, a, 0) && kt_read(run, &scratch->range, 0, out, size);
}

static bool replay_direct(struct kt_run *run, const struct kt_attention_run *a,
                          const struct gi_attention_scratch *scratch, float *out)
{
    struct glinfer_error err;
    const struct gi_dispatch_table_params params = {.state = run->step_state};
    struct gi_dispatch_table *table = run->recorder.table;
    run->recorder.table = gi_dispatch_table_create(run->gpu, run->recorder.programs, &params, &err);
    bool is_good =
        run->recorder.table ? replay_table(run, a, scratch, out) : kt_fail(run, "%s", err.message);
    gi_dispatch_table_destroy(run->recorder.table);
    run->recorder.table = table;
    return is_good;
}

static bool run_direct(struct kt_run *run, size_t index)
{
    struct kt_attention_run a;
    if (is_left_out(run, index)) {
        return true;
    }
    kt_attention_init(&a, run, &attention_cases[index]);
    struct gi_attention_scratch scratch = kt_make_scratch(run, &a.layer.kv);
    float *first = kt_alloc(a.width, sizeof(float)), *second = kt_alloc(a.width, sizeof(float));
    bool is_good = !run->has_failed && replay_table(run, &a, &scratch, first) &&
                   replay_direct(run, &a, &scratch, second);
    if (is_good && memcmp(first, second, a.width * sizeof(float)) != 0) {
        is_good = kt_fail(run, "a direct grid gives other bits");
    }
    free(first);
    free(second);
    kt_attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_direct = {"attention_direct", COUNT(attention_cases),
                                             attention_name, run_direct};

// Heads of 96, 128 and 256 compile for seconds in most forms, so that they are few: rules and types
// of the cache are tested with smaller ones.
static const struct kt_attention_case attention_batch_cases[] = {
    {{9, 3, 64, 64, F16, F16}, 1, 0, 0, 0, 0, 0},
    {{9, 3, 64, 64, F16, F16}, 2, 1, 0, 0, 0, 0},
    {{2, 1, 512, 600, F16, F16}, 33, 500, 0, 0, 0, 0},
    {{9, 3, 64, 512, F16, F16}, 512, 0, 0, 0, 0, 0},
    {{3, 1, 64, 1536, F16, F16}, 96, 1000, 0, 0, 0, 0},
    {{4, 4, 80, 128, F32, F16}, 7, 63, 0, 0, 0, 0},
    {{14, 2, 128, 600, F32, F32}, 32, 500, 0, 0, 0, 0},
    {{8, 1, 256, 300, F16, F16}, 33, 200, 0, 0, 0, 0},
    {{3, 1, 8, 300, F16, F16}, 128, 64, 0, 0, 0, 0},
    {{9, 3, 64, 300, F16, F16}, 40, 200, 17, 0, 0, 0},
    {{4, 1, 64, 300, F32, F16}, 31, 100, 64, 5, 0, 0},
    {{8, 2, 96, 600, F16, F32}, 128, 300, 128, 0, 0, 0},
    {{4, 2, 80, 128, F16, F16}, 70, 0, 0, 2, 0, 0},
    {{9, 3, 64, 300, Q8, Q8}, 40, 200, 0, 0, 0, 0},
    {{8, 2, 64, 200, F16, Q8}, 33, 100, 0, 0, 0, 0},
    {{4, 1, 128, 200, Q8, Q8}, 9, 100, 0, 5, 0, 0},
    {{3, 1, 8, 300, Q8, Q8}, 40, 64, 0, 0, 0, 0},
    {{9, 3, 64, 300, Q4, Q4}, 40, 200, 0, 0, 0, 0},
    {{4, 2, 80, 128, Q4, Q8}, 70, 0, 17, 0, 0, 0},
    {{3, 1, 8, 300, Q4, Q4}, 40, 64, 0, 0, 0, 0},
    {{12, 12, 32, 64, F16, F16}, 1, 0, 0, 0, 512, 0},
    {{12, 12, 32, 512, F16, F16}, 70, 0, 0, 0, 512, 0},
    {{4, 1, 32, 300, F16, F16}, 200, 0, 9, 0, 8, 0},
    {{3, 1, 32, 300, F16, F16}, 150, 0, 65, 0, 64, 0},
    {{12, 12, 32, 200, F16, F16}, 130, 0, 0, 0, 200, 8},
    {{4, 4, 32, 200, F16, F16}, 40, 100, 17, 0, 16, 8},
};

static const char *const batch_shapes[] = {"split", "lane", "row", "rolled"}; // of GLINFER_BATCH

// Sets GLINFER_BATCH; rolled is split on a class of GPUs of processors with is_rolled and groups of
// 512 for narrow heads, lane that of Mali-T.
static bool set_batch_shape(struct kt_run *run, const char *shape)
{
    static struct gi_device_class class;
    const bool is_rolled = strcmp(shape, "rolled") == 0, is_lane = strcmp(shape, "lane") == 0;
    if (!class.name) {
        class = *gi_gpu_class(run->gpu);
    }
    class.is_rolled = is_rolled;
    class.tall_head_dim = is_rolled ? 64 : 0;
    class.gemm_tile = is_rolled ? GI_GEMM_TILE_THIN : GI_GEMM_TILE_WHOLE;
    run->gpu->class = is_lane ? gi_device_class_find("Mali-T", "Mesa") : &class;
    return kt_set(run, "GLINFER_BATCH", is_rolled ? "split" : shape);
}

static void attention_batch_name(size_t index, char *text, size_t size)
{
    int n = snprintf(text, size, "%s ", batch_shapes[index % COUNT(batch_shapes)]);
    kt_attention_text(&attention_batch_cases[index / COUNT(batch_shapes)], text + n,
                      size - (size_t)n);
}

static bool run_attention_batch(struct kt_run *run, size_t index)
{
    const struct kt_attention_case *c = &attention_batch_cases[index / COUNT(batch_shapes)];
    struct kt_attention_run a;
    kt_attention_init(&a, run, c);
    size_t size = (size_t)c->n_tokens * a.width * sizeof(float);
    struct gi_rows q = {kt_range(run, "q", a.q, size), a.width, false};
    struct gi_rows out = {kt_range(run, "out", NULL, size), a.width, false};
    bool is_good =
        !run->has_failed && set_batch_shape(run, batch_shapes[index % COUNT(batch_shapes)]);
    if (is_good) {
        gi_op_attention_batch(&run->recorder, "attention_batch", &a.layer.kv, &a.rule, &q, &out);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens);
    // All tokens of a small batch, some of a large one.
    uint32_t step = c->n_tokens < 40 ? 1 : 37;
    for (uint32_t m = 0; is_good && m < c->n_tokens; m += step) {
        is_good = kt_attention_check(run, &a, m, &out.range, (size_t)m * a.width * sizeof(float));
    }
    is_good = is_good && kt_attention_check(run, &a, c->n_tokens - 1, &out.range,
                                            (size_t)(c->n_tokens - 1) * a.width * sizeof(float));
    is_good = is_good && kt_bench(run, c->n_past, c->n_tokens, size * 2);
    kt_attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_batch = {"attention_batch",
                                            COUNT(attention_batch_cases) * COUNT(batch_shapes),
                                            attention_batch_name, run_attention_batch};

//-- prompt and decode -----------------------------------------------------------------------------

// The batch's result of each token against what decode gives for it, in one table: both are within
// their bound of the same reference, so they are within twice it of each other.
static const struct kt_attention_case agree_cases[] = {
    {{9, 3, 64, 200, F16, F16}, 33, 120, 0, 0, 0, 0},
    {{8, 1, 128, 64, F32, F16}, 7, 0, 0, 0, 0, 0},
    {{8, 2, 64, 300, F16, F16}, 20, 250, 33, 3, 0, 0},
    {{9, 3, 64, 200, Q8, Q8}, 33, 120, 0, 0, 0, 0},
    {{9, 3, 64, 200, Q4, Q4}, 33, 120, 0, 0, 0, 0},
};

static void agree_name(size_t index, char *text, size_t size)
{
    kt_attention_text(&agree_cases[index], text, size);
}

static bool check_agreement(struct kt_run *run, struct kt_attention_run *a, uint32_t m,
                            const struct gi_range *scratch, const struct gi_range *out)
{
    float *batch = kt_alloc(a->width, sizeof(float));
    bool is_good =
        kt_read(run, out, (size_t)m * a->width * sizeof(float), batch, a->width * sizeof(float));
    kt_attention_want(a, m);
    for (uint32_t i = 0; i < a->width; i++) {
        a->want[i] = (double)batch[i];
        a->bound[i] *= 2;
    }
    is_good = is_good && kt_compare_f32(run, "decode", scratch, 0, a->want, a->bound, a->width);
    free(batch);
    return is_good;
}

static bool run_agree(struct kt_run *run, size_t index)
{
    const struct kt_attention_case *c = &agree_cases[index];
    struct kt_attention_run a;
    kt_attention_init(&a, run, c);
    struct gi_attention_scratch scratch = kt_make_scratch(run, &a.layer.kv);
    size_t size = (size_t)c->n_tokens * a.width * sizeof(float);
    struct gi_rows q = {kt_range(run, "q", a.q, size), a.width, false};
    struct gi_rows out = {kt_range(run, "out", NULL, size), a.width, false};
    float *first = kt_alloc(size, 1);
    bool is_good = !run->has_failed && kt_set(run, "GLINFER_BATCH", NULL);
    if (is_good) {
        gi_op_attention_batch(&run->recorder, "attention_batch", &a.layer.kv, &a.rule, &q, &out);
        gi_op_attention(&run->recorder, "attention", &a.layer.kv, &a.rule, &scratch);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
              kt_read(run, &out.range, 0, first, size);
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        is_good = run_step(run, &a, m) && kt_write(run, &out.range, 0, first, size) &&
                  check_agreement(run, &a, m, &scratch.range, &out.range);
    }
    free(first);
    kt_attention_finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_agree = {"attention_agree", COUNT(agree_cases), agree_name,
                                            run_agree};
