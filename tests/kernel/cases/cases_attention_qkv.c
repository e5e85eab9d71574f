// Attention of a stage, which turns q and k itself and writes the cache: what norm_rope_kv and
// attention compute one after the other, against both formulas in double.
#include "ops/attention/attention_vec8.h"
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
    {{{9, 3, 64, 64, F16, F16}, 64, 3, 0},         0,    0,  false},
    {{{9, 3, 64, 512, F16, F16}, 64, 2, 300},      0,    0,  false},
    {{{16, 8, 128, 300, F16, F16}, 128, 3, 126},   0,    0,  true },
    {{{16, 8, 128, 900, F16, F16}, 128, 2, 700},   0,    0,  true },
    {{{32, 8, 64, 600, F16, F16}, 64, 2, 255},     0,    0,  false},
    {{{32, 8, 128, 300, F16, F16}, 128, 2, 130},   0,    0,  false},
    {{{8, 1, 256, 600, F32, F32}, 64, 2, 511},     512,  20, true },
    {{{7, 1, 128, 700, F16, F32}, 0, 2, 520},      100,  0,  true },
    {{{4, 4, 32, 200, F32, F16}, 8, 2, 64},        0,    5,  false},
    {{{3, 1, 8, 600, F16, F16}, 8, 2, 400},        0,    0,  true },
    {{{16, 8, 128, 1600, F16, F16}, 128, 2, 1500}, 1200, 0,  true },
    {{{16, 8, 128, 300, F16, F16}, 128, 1, 299},   0,    0,  true },
};

// Groups of a persistent step: of two sizes, and with more and fewer of them.
static const struct {
    uint32_t group_size, n_groups;
} groups[] = {
    {256,  132},
    {512,  132},
    {128,  20 },
    {256,  5  },
    {64,   40 },
    {1024, 132},
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
    uint32_t zero[512] = {0};
    *a = (struct attention_qkv){
        .c = c, .rule = {1.0f / sqrtf((float)c->rope.shape.head_dim), c->softcap, c->window}
    };
    kt_layer_init(&a->layer, run, &c->rope.shape, c->rope.n_past);
    kt_qkv_init(&a->qkv, run, &c->rope.shape, c->rope.n_tokens);
    a->row = kt_range(run, "row", NULL, a->qkv.rows.stride * sizeof(float));
    a->input = (struct gi_attention_input){.layout = a->qkv.layout, .qkv = a->row};
    a->input.vectors = kt_normed_table(run, &c->rope, false, &a->input.norm, &a->values);
    a->input.norm.q_width *= c->has_norm;
    a->input.rope = (struct gi_rope){a->input.vectors.rope, c->rope.n_rot};
    const uint64_t size = gi_attention_scratch_layout(&a->scratch, &a->layer.kv);
    a->scratch.range = kt_range(run, "scratch", NULL, (size_t)size);
    kt_write(run, &a->scratch.range, a->scratch.counter * sizeof(uint32_t), zero,
             4 * c->rope.shape.n_head * sizeof(uint32_t));
}

static void finish(struct attention_qkv *a)
{
    kt_qkv_finish(&a->qkv);
    kt_layer_finish(&a->layer);
    free(a->values);
}

static bool record(struct attention_qkv *a, struct kt_run *run)
{
    struct glinfer_error err;
    return gi_op_attention_qkv(&run->recorder, "attention", &a->layer.kv, &a->rule, &a->input,
                               &a->scratch, &err) ||
           kt_fail(run, "%s", err.message);
}

// A row of the cache as the step has left it.
static bool read_row(struct kt_run *run, const struct gi_range *range, uint32_t begin,
                     enum gi_cache_type type, size_t row, uint32_t dim, float *values)
{
    uint16_t halves[256];
    const size_t size = dim * (type == F32 ? sizeof(float) : sizeof(uint16_t));
    void *data = type == F32 ? (void *)values : (void *)halves;
    const bool is_good = kt_read(run, range, begin * sizeof(uint32_t) + row * size, data, size);
    for (uint32_t i = 0; type == F16 && i < dim; i++) {
        values[i] = gi_half_to_float(halves[i]);
    }
    return is_good;
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
                  read_row(run, &kv->range, is_k ? kv->k : kv->v, is_k ? kv->type_k : kv->type_v,
                           row, dim, (is_k ? a->layer.k : a->layer.v) + row * dim);
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
        is_good = record(&a, run) && kt_seal(run);
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
