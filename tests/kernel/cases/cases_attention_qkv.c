// Attention that turns q and k itself and writes the cache; and joint steps, in which rotation and
// attention serve all slots.
#include "gpu/device/gpu_private.h"
#include "ops/attention/attention_vec8.h"
#include "tests/kernel/cases/cases_slots.h"
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <math.h>
#include <stdio.h>

struct qkv_case {
    struct kt_layer_shape shape;
    uint32_t n_rot, n_steps, n_past;
    uint32_t window; // 0: none
    float softcap;   // 0: none
    bool has_norm;
};

static void print_case(const struct qkv_case *c, char *text, size_t size)
{
    const int n = kt_layer_print(&c->shape, text, size);
    snprintf(text + n, size - (size_t)n, ", %u turned, %u steps at %u, window %u, cap %g%s",
             c->n_rot, c->n_steps, c->n_past, c->window, (double)c->softcap,
             c->has_norm ? ", normed" : "");
}

// The ranges and rules of a step.
struct qkv_run {
    struct gi_kv_layer layer;
    struct gi_qkv_layout layout;
    struct gi_rows qkv;
    struct gi_attention_input input;
    struct gi_attention_scratch scratch;
    struct gi_score_rule rule;
};

// Prepares a step of n_slots slots; 0: a list of one sequence.
static struct qkv_run prepare(struct kt_run *run, const struct qkv_case *c, uint32_t n_slots)
{
    const uint32_t dim = c->shape.head_dim, n_table = c->n_rot * c->shape.n_ctx;
    struct qkv_run s = {
        .layer = kt_layer(run, &c->shape, n_slots),
        .rule = {.scale = 1.0f / sqrtf((float)dim), .softcap = c->softcap, .window = c->window},
    };
    s.qkv = kt_qkv_rows(run, &c->shape, n_slots > 0 ? n_slots : 1, &s.layout);
    s.scratch = kt_make_scratch(run, &s.layer, n_slots);
    s.input = (struct gi_attention_input){
        .layout = s.layout,
        .qkv = s.qkv.range,
        .qkv_stride = n_slots > 0 ? s.qkv.stride : 0,
        .vectors = kt_random_vectors(run, n_table + 2 * (size_t)dim),
        .rope = {.n_rot = c->n_rot},
        .norm = {.q_gamma = n_table,
                 .k_gamma = n_table + dim,
                 .q_width = c->has_norm ? dim : 0,
                 .k_width = dim,
                 .eps = 1e-5f},
    };
    // Weights of the norms serve as sinks.
    s.rule.has_sinks = c->window > 0 && c->shape.n_head <= 2 * dim;
    s.rule.sinks = n_table;
    s.rule.vectors = s.input.vectors.range;
    return s;
}

// n_steps is the number of steps in a row.
static const struct qkv_case cases[] = {
    {{9, 3, 64, 64, F16, F16}, 64, 3, 0, 0, 0, false},
    {{9, 3, 64, 512, F16, F16}, 64, 2, 300, 0, 0, false},
    {{16, 8, 128, 300, F16, F16}, 128, 3, 126, 0, 0, true},
    {{16, 8, 128, 900, F16, F16}, 128, 2, 700, 0, 0, true},
    {{32, 8, 64, 600, F16, F16}, 64, 2, 255, 0, 0, false},
    {{32, 8, 128, 300, F16, F16}, 128, 2, 130, 0, 0, false},
    {{8, 1, 256, 600, F32, F32}, 64, 2, 511, 512, 20, true},
    {{7, 1, 128, 700, F16, F32}, 0, 2, 520, 100, 0, true},
    {{4, 4, 32, 200, F32, F16}, 8, 2, 64, 0, 5, false},
    {{3, 1, 8, 600, F16, F16}, 8, 2, 400, 0, 0, true},
    {{16, 8, 128, 1600, F16, F16}, 128, 2, 1500, 1200, 0, true},
    {{16, 8, 128, 300, F16, F16}, 128, 1, 299, 0, 0, true},
};

// Groups of a persistent step: of several sizes, and with more and fewer of them.
static const struct gi_list_form forms[] = {
    {256, 132}, {512, 132}, {128, 20}, {256, 5}, {64, 40}, {1024, 132},
};

static void name_case(size_t index, char *text, size_t size)
{
    const struct gi_list_form *form = &forms[index % COUNT(forms)];
    const int n = snprintf(text, size, "%u groups of %u, ", form->n_groups, form->group_size);
    print_case(&cases[index / COUNT(forms)], text + n, size - (size_t)n);
}

static bool run_case(struct kt_run *run, size_t index)
{
    const struct qkv_case *c = &cases[index / COUNT(forms)];
    run->recorder.form = forms[index % COUNT(forms)];
    const struct qkv_run s = prepare(run, c, 0);
    if (!gi_attention_qkv_suits(&run->recorder, &s.layer, &s.input)) {
        return true;
    }
    gi_op_attention_qkv(&run->recorder, "attention", &s.layer, &s.rule, &s.input, &s.scratch);
    bool is_good = kt_seal(run);
    for (uint32_t m = 0; is_good && m < c->n_steps; m++) {
        is_good = kt_check(run, c->n_past + m, 1);
    }
    return is_good;
}

const struct kt_suite kt_attention_qkv = {"attention_qkv", COUNT(cases) * COUNT(forms), name_case,
                                          run_case};

//-- joint steps -----------------------------------------------------------------------------------

// The ways that a class of devices may take.
enum way {
    WAY_CLASS, // rotation, then attention as the device's class has it
    WAY_HEADS, // the same with groups that take heads together
    WAY_QKV,   // attention that turns q and k itself
    N_WAYS,
};

// Positions are the slots'.
static const struct joint_case {
    struct qkv_case c;
    uint32_t n_slots;
} joint_cases[] = {
    {{{9, 3, 64, 512, F16, F16}, 64, 1, 0, 0, 0, false}, 1},
    {{{9, 3, 64, 512, F16, F16}, 64, 1, 0, 0, 0, false}, 4},
    {{{16, 8, 128, 300, F16, F16}, 128, 1, 0, 0, 0, true}, 3},
    {{{8, 1, 256, 600, F32, F32}, 64, 1, 0, 100, 20, true}, 2},
    {{{32, 8, 64, 2100, F16, F32}, 64, 1, 0, 0, 0, false}, 16},
    {{{14, 2, 64, 700, Q8, Q8}, 64, 1, 0, 0, 0, false}, 5},
    {{{4, 4, 32, 200, F32, F16}, 8, 1, 0, 64, 0, true}, 9},
    {{{9, 3, 64, 400, Q4, Q8}, 64, 1, 0, 0, 0, true}, 4},
};

static void name_joint(size_t index, char *text, size_t size)
{
    static const char *const ways[N_WAYS] = {"class", "heads", "qkv"};
    const struct joint_case *c = &joint_cases[index / N_WAYS];
    const int n = snprintf(text, size, "%s, %u slots, ", ways[index % N_WAYS], c->n_slots);
    print_case(&c->c, text + n, size - (size_t)n);
}

static void record_joint(struct kt_run *run, const struct qkv_run *s, enum way way)
{
    struct gi_recorder *recorder = &run->recorder;
    const struct gi_rows q = {s->layer.range, (uint32_t)(s->layer.slot_size / sizeof(float)),
                              false};
    if (way == WAY_QKV) {
        gi_op_attention_qkv(recorder, "qkv", &s->layer, &s->rule, &s->input, &s->scratch);
        return;
    }
    if (s->input.norm.q_width > 0) {
        gi_op_norm_rope_kv(recorder, "norm_rope", &s->layout, &s->qkv, &s->input.vectors,
                           &s->input.norm, &s->input.rope, &s->layer, &q);
    } else {
        gi_op_rope_kv(recorder, "rope", &s->layout, &s->qkv, &s->input.vectors, &s->input.rope,
                      &s->layer, &q);
    }
    gi_op_attention(recorder, "attention", &s->layer, &s->rule, &s->scratch);
}

static bool check_joint(struct kt_run *run, const struct joint_case *c, enum way way)
{
    struct kt_slots slots;
    kt_slots_init(&slots, run, c->n_slots, c->c.shape.n_ctx);
    const struct qkv_run s = prepare(run, &c->c, c->n_slots);
    if (way == WAY_QKV) {
        run->recorder.form = forms[0];
        if (!gi_attention_qkv_suits(&run->recorder, &s.layer, &s.input)) {
            return true;
        }
    }
    record_joint(run, &s, way);
    // Again with other slots beside the first.
    return kt_seal(run) && kt_slots_check(&slots, run) && kt_slots_turn(&slots, run) &&
           kt_slots_check(&slots, run) && kt_bench(run, 0, 1, s.layer.range.size);
}

static bool run_joint(struct kt_run *run, size_t index)
{
    static const struct gi_attention_shape heads = {64, 4, 1, 32, false};
    const enum way way = (enum way)(index % N_WAYS);
    const struct gi_device_class *class = gi_gpu_class(run->gpu);
    struct gi_device_class joint_class = *class;
    joint_class.attention = way == WAY_HEADS ? heads : class->attention;
    run->gpu->class = &joint_class;
    const bool is_good = check_joint(run, &joint_cases[index / N_WAYS], way);
    run->gpu->class = class;
    return is_good;
}

const struct kt_suite kt_attention_joint = {"attention_joint", N_WAYS *COUNT(joint_cases),
                                            name_joint, run_joint};
