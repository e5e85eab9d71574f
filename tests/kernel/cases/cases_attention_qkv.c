// Attention of a stage, which turns q and k itself and writes the cache: what norm_rope_kv and
// attention compute one after the other, against both formulas in double.
#include "base/round.h"
#include "gpu/device/gpu_private.h"
#include "ops/attention/attention_vec8.h"
#include "tests/kernel/cases/cases_slots.h"
#include "tests/kernel/fixture/kernel_qkv.h"
#include "tests/ref/ref_batch.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct attention_qkv_case {
    struct kt_rope_case rope;
    uint32_t window; // 0: none
    float softcap;   // 0: none
    bool has_norm;
};

// n_tokens is the number of steps in a row.
static const struct attention_qkv_case cases[] = {
    {{{9, 3, 64, 64, F16, F16}, 64, 3, 0}, 0, 0, false},
    {{{9, 3, 64, 512, F16, F16}, 64, 2, 300}, 0, 0, false},
    {{{16, 8, 128, 300, F16, F16}, 128, 3, 126}, 0, 0, true},
    {{{16, 8, 128, 900, F16, F16}, 128, 2, 700}, 0, 0, true},
    {{{32, 8, 64, 600, F16, F16}, 64, 2, 255}, 0, 0, false},
    {{{32, 8, 128, 300, F16, F16}, 128, 2, 130}, 0, 0, false},
    {{{8, 1, 256, 600, F32, F32}, 64, 2, 511}, 512, 20, true},
    {{{7, 1, 128, 700, F16, F32}, 0, 2, 520}, 100, 0, true},
    {{{4, 4, 32, 200, F32, F16}, 8, 2, 64}, 0, 5, false},
    {{{3, 1, 8, 600, F16, F16}, 8, 2, 400}, 0, 0, true},
    {{{16, 8, 128, 1600, F16, F16}, 128, 2, 1500}, 1200, 0, true},
    {{{16, 8, 128, 300, F16, F16}, 128, 1, 299}, 0, 0, true},
};

// Groups of a persistent step: of two sizes, and with more and fewer of them.
static const struct {
    uint32_t group_size, n_groups;
} groups[] = {
    {256, 132}, {512, 132}, {128, 20}, {256, 5}, {64, 40}, {1024, 132},
};

static void name_case(size_t index, char *text, size_t size)
{
    const struct attention_qkv_case *c = &cases[index / COUNT(groups)];
    const struct kt_layer_shape *s = &c->rope.shape;
    snprintf(text, size,
             "%u groups of %u, %u/%u heads of %u, %u turned, %u steps at %u, k %s v %s, window %u, "
             "cap %g%s",
             groups[index % COUNT(groups)].n_groups, groups[index % COUNT(groups)].group_size,
             s->n_head, s->n_kv_head, s->head_dim, c->rope.n_rot, c->rope.n_tokens, c->rope.n_past,
             kt_cache_names[s->type_k], kt_cache_names[s->type_v], c->window, (double)c->softcap,
             c->has_norm ? ", normed" : "");
}

// A case on its way.
struct attention_qkv {
    const struct attention_qkv_case *c;
    struct kt_layer layer;
    struct kt_qkv qkv;
    struct gi_range row; // of qkv, one step's
    struct gi_attention_input input;
    struct gi_attention_scratch scratch;
    struct gi_score_rule rule;
    float *values; // of the vectors
};

static void init(struct attention_qkv *a, struct kt_run *run, const struct attention_qkv_case *c)
{
    *a = (struct attention_qkv){.c = c,
                                .rule = {.scale = 1.0f / sqrtf((float)c->rope.shape.head_dim),
                                         .softcap = c->softcap,
                                         .window = c->window}};
    kt_layer_init(&a->layer, run, &c->rope.shape, c->rope.n_past);
    kt_qkv_init(&a->qkv, run, &c->rope.shape, c->rope.n_tokens);
    a->row = kt_range(run, "row", NULL, a->qkv.rows.stride * sizeof(float));
    a->input = (struct gi_attention_input){.layout = a->qkv.layout, .qkv = a->row};
    a->input.vectors = kt_normed_table(run, &c->rope, false, &a->input.norm, &a->values);
    // Weights of the norms serve as sinks.
    a->rule.has_sinks = c->window > 0 && c->rope.shape.n_head <= 2 * c->rope.shape.head_dim;
    a->rule.sinks = a->input.norm.q_gamma;
    a->rule.vectors = a->input.vectors.range;
    a->input.norm.q_width *= c->has_norm;
    a->input.rope = (struct gi_rope){.table = a->input.vectors.rope, .n_rot = c->rope.n_rot};
    a->scratch = kt_make_scratch(run, &a->layer.kv);
}

static void finish(struct attention_qkv *a)
{
    kt_qkv_finish(&a->qkv);
    kt_layer_finish(&a->layer);
    free(a->values);
}

static void record(struct attention_qkv *a, struct kt_run *run)
{
    gi_op_attention_qkv(&run->recorder, "attention", &a->layer.kv, &a->rule, &a->input,
                        &a->scratch);
}

// Holds the rows of a step against what they should be, and takes them as they are.
static bool check_rows(struct attention_qkv *a, struct kt_run *run, uint32_t m)
{
    const struct kt_layer_shape *s = &a->c->rope.shape;
    const struct gi_kv_layer *kv = &a->layer.kv;
    const uint32_t dim = s->head_dim, position = a->c->rope.n_past + m;
    const float *head = a->qkv.natural + (size_t)m * a->qkv.width + (size_t)s->n_head * dim;
    bool is_good = true;
    double want[256], bound[256];
    for (uint32_t i = 0; is_good && i < 2 * s->n_kv_head; i++, head += dim) {
        const bool is_k = i < s->n_kv_head;
        const size_t row = (size_t)(is_k ? i : i - s->n_kv_head) * s->n_ctx + position;
        ref_rope(head, dim, is_k ? a->c->rope.n_rot : 0, KT_ROPE_RATE, position, want, bound);
        for (uint32_t k = 0; k < dim; k++) {
            bound[k] *= 4 * (double)FLT_EPSILON;
        }
        is_good = kt_check_row(run, is_k, kv, row, want, bound) &&
                  kt_read_row(run, is_k, kv, row, (is_k ? a->layer.k : a->layer.v) + row * dim);
    }
    return is_good;
}

// The bound as attention has it, twice for q: it is rounded when it is normed and turned.
static bool check_head(struct attention_qkv *a, struct kt_run *run, uint32_t m, uint32_t h)
{
    const struct kt_layer_shape *s = &a->c->rope.shape;
    const uint32_t dim = s->head_dim, n_key = a->c->rope.n_past + m + 1;
    const size_t first = a->c->window > 0 && n_key > a->c->window ? n_key - a->c->window : 0;
    const size_t at = ((size_t)h * s->n_kv_head / s->n_head * s->n_ctx + first) * dim;
    double turned[256], want[256], bound[256];
    float q[256];
    ref_rope(a->qkv.natural + (size_t)m * a->qkv.width + (size_t)h * dim, dim, a->c->rope.n_rot,
             KT_ROPE_RATE, a->c->rope.n_past + m, turned, bound);
    for (uint32_t i = 0; i < dim; i++) {
        q[i] = (float)turned[i];
    }
    const struct ref_attention ref = {
        .q = q,
        .k = a->layer.k + at,
        .v = a->layer.v + at,
        .n_key = n_key - first,
        .head_dim = dim,
        .scale = (double)a->rule.scale,
        .softcap = (double)a->rule.softcap,
        .sink = a->rule.has_sinks ? a->values + a->rule.sinks + h : NULL,
    };
    const double score = ref_attention(&ref, want, bound);
    const double slack = 4 * score * (4 + sqrt((double)dim)) + 16 + sqrt((double)ref.n_key);
    for (uint32_t i = 0; i < dim; i++) {
        bound[i] *= slack * (double)FLT_EPSILON;
    }
    return kt_compare_f32(run, "out", &a->scratch.range, (size_t)h * dim * sizeof(float), want,
                          bound, dim);
}

static bool run_step(struct attention_qkv *a, struct kt_run *run, uint32_t m)
{
    const size_t stride = a->qkv.rows.stride;
    bool is_good = kt_write(run, &a->row, 0, a->qkv.stacked + m * stride, stride * sizeof(float)) &&
                   kt_replay(run, a->c->rope.n_past + m, 1) && check_rows(a, run, m);
    for (uint32_t h = 0; is_good && h < a->c->rope.shape.n_head; h++) {
        is_good = check_head(a, run, m, h);
    }
    return is_good;
}

static bool run_case(struct kt_run *run, size_t index)
{
    const struct attention_qkv_case *c = &cases[index / COUNT(groups)];
    struct attention_qkv a;
    run->recorder.form.group_size = groups[index % COUNT(groups)].group_size;
    run->recorder.form.n_groups = groups[index % COUNT(groups)].n_groups;
    init(&a, run, c);
    bool is_good = !run->has_failed;
    if (is_good && gi_attention_qkv_suits(&run->recorder, &a.layer.kv, &a.input)) {
        if (c->has_norm) {
            kt_norm_qkv(&a.qkv, &c->rope, &a.input.norm, a.values);
        }
        record(&a, run);
        is_good = kt_seal(run);
        for (uint32_t m = 0; is_good && m < c->rope.n_tokens; m++) {
            is_good = run_step(&a, run, m);
        }
        is_good = is_good && kt_check_untouched(run, &c->rope, &a.layer);
    }
    finish(&a);
    return is_good;
}

const struct kt_suite kt_attention_qkv = {"attention_qkv", COUNT(cases) * COUNT(groups), name_case,
                                          run_case};

//-- joint steps -----------------------------------------------------------------------------------

// The ways that a class of devices may take.
enum way {
    WAY_CLASS, // rotation, then attention as the device's class has it
    WAY_HEADS, // the same with groups that take heads together
    WAY_QKV,   // attention that turns q and k itself
    N_WAYS,
};

static const struct {
    struct attention_qkv_case c; // n_tokens and n_past are the slots'
    uint32_t n_slots;
} joint_cases[] = {
    {{{{9, 3, 64, 512, F16, F16}, 64, 1, 0}, 0, 0, false}, 1},
    {{{{9, 3, 64, 512, F16, F16}, 64, 1, 0}, 0, 0, false}, 4},
    {{{{16, 8, 128, 300, F16, F16}, 128, 1, 0}, 0, 0, true}, 3},
    {{{{8, 1, 256, 600, F32, F32}, 64, 1, 0}, 100, 20, true}, 2},
    {{{{32, 8, 64, 2100, F16, F32}, 64, 1, 0}, 0, 0, false}, 16},
    {{{{14, 2, 64, 700, Q8, Q8}, 64, 1, 0}, 0, 0, false}, 5},
    {{{{4, 4, 32, 200, F32, F16}, 8, 1, 0}, 64, 0, true}, 9},
    {{{{9, 3, 64, 400, Q4, Q8}, 64, 1, 0}, 0, 0, true}, 4},
};

static void joint_name(size_t index, char *text, size_t size)
{
    static const char *const ways[N_WAYS] = {"class", "heads", "qkv"};
    const struct attention_qkv_case *c = &joint_cases[index / N_WAYS].c;
    const struct kt_layer_shape *s = &c->rope.shape;
    snprintf(text, size,
             "%s, %u slots, %u/%u heads of %u, %u turned, k %s v %s, window %u, cap %g%s",
             ways[index % N_WAYS], joint_cases[index / N_WAYS].n_slots, s->n_head, s->n_kv_head,
             s->head_dim, c->rope.n_rot, kt_cache_names[s->type_k], kt_cache_names[s->type_v],
             c->window, (double)c->softcap, c->has_norm ? ", normed" : "");
}

// A joint case on its way. Each slot has what a case of one step has.
struct joint {
    struct kt_slots slots;
    struct attention_qkv_case cases[GI_MAX_ROWS];
    struct attention_qkv each[GI_MAX_ROWS];
    struct gi_kv_layer layer; // of all, as the next two
    struct gi_attention_scratch scratch;
    struct gi_rows qkv;
    uint8_t *layer_bytes, *scratch_bytes; // before the step
};

// Lays out the slots' caches, scratch and rows one after the other.
static bool join(struct joint *j, struct kt_run *run)
{
    struct attention_qkv *first = &j->each[0];
    const uint32_t n = j->slots.n, row_size = first->qkv.rows.stride * (uint32_t)sizeof(float);
    const uint64_t kv_stride = gi_round_up(first->layer.size, 256) + 256;
    const uint64_t stride = gi_round_up(first->scratch.range.size, 256);
    uint8_t *rows = kt_alloc(n, row_size);
    j->layer_bytes = kt_alloc(n, kv_stride);
    j->scratch_bytes = kt_alloc(n, stride);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(j->layer_bytes + i * kv_stride, j->each[i].layer.words, j->each[i].layer.size);
        memcpy(rows + (size_t)i * row_size, j->each[i].qkv.stacked, row_size);
        kt_read(run, &j->each[i].scratch.range, 0, j->scratch_bytes + i * stride,
                first->scratch.range.size);
    }
    j->layer = first->layer.kv;
    j->layer.range = kt_range(run, "layers", j->layer_bytes, n * kv_stride);
    j->layer.slot_size = kv_stride;
    j->scratch = first->scratch;
    j->scratch.range = kt_range(run, "scratches", j->scratch_bytes, n * stride);
    j->scratch.slot_size = stride;
    j->qkv = (struct gi_rows){kt_range(run, "rows", rows, (size_t)n * row_size),
                              first->qkv.rows.stride, false};
    for (uint32_t i = 0; i < n; i++) {
        struct attention_qkv *a = &j->each[i];
        a->layer.kv.range = kt_slot_range(&j->layer.range, kv_stride, i, a->layer.size);
        a->scratch.range = kt_slot_range(&j->scratch.range, stride, i, first->scratch.range.size);
    }
    free(rows);
    return !run->has_failed;
}

static bool begin_joint(struct joint *j, struct kt_run *run, size_t index)
{
    const struct attention_qkv_case *c = &joint_cases[index / N_WAYS].c;
    memset(j, 0, sizeof(*j));
    kt_slots_init(&j->slots, run, joint_cases[index / N_WAYS].n_slots, c->rope.shape.n_ctx);
    for (uint32_t i = 0; i < j->slots.n; i++) {
        j->cases[i] = *c;
        j->cases[i].rope.n_past = j->slots.states[i].n_past;
        init(&j->each[i], run, &j->cases[i]);
        // All slots have the sinks of the first.
        memmove(j->each[i].values + j->each[i].rule.sinks,
                j->each[0].values + j->each[0].rule.sinks, c->rope.shape.n_head * sizeof(float));
    }
    return !run->has_failed && join(j, run);
}

static void finish_joint(struct joint *j)
{
    for (uint32_t i = 0; i < j->slots.n; i++) {
        finish(&j->each[i]);
    }
    free(j->layer_bytes);
    free(j->scratch_bytes);
}

static bool record_joint(struct joint *j, struct kt_run *run, enum way way)
{
    struct gi_recorder *recorder = &run->recorder;
    const struct attention_qkv *first = &j->each[0];
    struct gi_attention_input input = first->input;
    const struct gi_rows q = {j->layer.range, (uint32_t)(j->layer.slot_size / sizeof(float)),
                              false};
    input.qkv = j->qkv.range;
    input.qkv_stride = j->qkv.stride;
    if (way == WAY_QKV) {
        gi_op_attention_qkv(recorder, "qkv", &j->layer, &first->rule, &input, &j->scratch);
    } else {
        if (first->c->has_norm) {
            gi_op_norm_rope_kv(recorder, "norm_rope", &first->qkv.layout, &j->qkv, &input.vectors,
                               &input.norm, &input.rope, &j->layer, &q);
        } else {
            gi_op_rope_kv(recorder, "rope", &first->qkv.layout, &j->qkv, &input.vectors,
                          &input.rope, &j->layer, &q);
        }
        gi_op_attention(recorder, "attention", &j->layer, &first->rule, &j->scratch);
    }
    return kt_seal(run);
}

// Holds what a step leaves of a slot: its row and its result, and nothing else; of an idle one
// nothing.
static bool check_slot(struct joint *j, struct kt_run *run, uint32_t i)
{
    struct attention_qkv *a = &j->each[i];
    if (j->slots.kinds[i] != KT_SLOT_LIVE) {
        return kt_slot_untouched(run, "the cache", &a->layer.kv.range, a->layer.words,
                                 a->layer.size) &&
               kt_slot_untouched(run, "the scratch", &a->scratch.range,
                                 j->scratch_bytes + i * j->scratch.slot_size,
                                 a->scratch.range.size);
    }
    bool is_good = kt_check_untouched(run, &a->c->rope, &a->layer) && check_rows(a, run, 0);
    for (uint32_t h = 0; is_good && h < a->c->rope.shape.n_head; h++) {
        is_good = check_head(a, run, 0, h);
    }
    return is_good;
}

// Replays with other neighbours beside the first slot, which is to have the same result.
static bool check_neighbours(struct joint *j, struct kt_run *run)
{
    const struct gi_range *out = &j->each[0].scratch.range;
    const size_t size = j->each[0].c->rope.shape.n_head * j->each[0].c->rope.shape.head_dim * 4;
    void *before = kt_alloc(size, 1);
    bool is_good = kt_read(run, out, 0, before, size) &&
                   kt_write(run, &j->layer.range, 0, j->layer_bytes, j->layer.range.size);
    for (uint32_t i = 1; i < j->slots.n; i++) {
        j->slots.kinds[i] = j->slots.kinds[i] == KT_SLOT_LIVE ? KT_SLOT_OUT : KT_SLOT_LIVE;
    }
    is_good = is_good && kt_slots_write(&j->slots, run) && kt_slots_replay(&j->slots, run) &&
              kt_slot_untouched(run, "the result beside others", out, before, size);
    free(before);
    return is_good;
}

static bool check_joint(struct joint *j, struct kt_run *run, enum way way)
{
    const struct attention_qkv *first = &j->each[0];
    bool is_good = record_joint(j, run, way) && kt_slots_replay(&j->slots, run);
    for (uint32_t i = 0; is_good && i < j->slots.n; i++) {
        if (first->c->has_norm) {
            kt_norm_qkv(&j->each[i].qkv, &first->c->rope, &first->input.norm, first->values);
        }
        is_good = check_slot(j, run, i);
    }
    const struct kt_layer_shape *s = &first->c->rope.shape;
    const uint64_t row = gi_cache_row_size(j->layer.type_k, s->head_dim) +
                         gi_cache_row_size(j->layer.type_v, s->head_dim);
    return is_good && check_neighbours(j, run) &&
           kt_bench(run, first->c->rope.n_past, 1,
                    row * s->n_kv_head * (first->c->rope.n_past + 1) * j->slots.n);
}

static bool run_joint(struct kt_run *run, size_t index)
{
    static const struct gi_attention_shape heads = {64, 4, 1, 32, false};
    const enum way way = (enum way)(index % N_WAYS);
    const struct gi_device_class *class = gi_gpu_class(run->gpu);
    struct gi_device_class joint_class = *class;
    struct joint *j = kt_alloc(1, sizeof(*j));
    joint_class.attention = way == WAY_HEADS ? heads : class->attention;
    run->gpu->class = &joint_class;
    bool is_good = begin_joint(j, run, index);
    if (is_good && way == WAY_QKV) {
        run->recorder.form = (struct gi_list_form){.group_size = 256, .n_groups = 132};
    }
    if (is_good &&
        (way != WAY_QKV || gi_attention_qkv_suits(&run->recorder, &j->layer, &j->each[0].input))) {
        is_good = check_joint(j, run, way);
    }
    run->gpu->class = class;
    finish_joint(j);
    free(j);
    return is_good;
}

const struct kt_suite kt_attention_joint = {"attention_joint", N_WAYS *COUNT(joint_cases),
                                            joint_name, run_joint};
