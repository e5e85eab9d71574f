// A mixture of experts: routing, the projections of the chosen ones and their sum, in one table, of
// a batch as it comes and of a step.
#include "tests/kernel/cases/cases_experts.h"

#include "tests/ref/ref_batch.h"
#include "tests/ref/ref_gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDINGS 16
#define NORM_EPS  1e-5f
#define MAX_USED  8

#define HALF_EPSILON 0x1p-10

const struct kt_expert_case kt_expert_cases[KT_N_EXPERT_CASES] = {
    {GI_GGML_TYPE_F32, 32, 16, 4, 1, 1, 0, false, {0}, 0},
    {GI_GGML_TYPE_Q8_0, 64, 96, 6, 2, 1, 0, false, {GI_GATING_ALL, false, false, false, 1}, 0},
    {GI_GGML_TYPE_Q4_0, 96, 64, 5, 3, 7, 2, false, {0}, 1},
    {GI_GGML_TYPE_Q4_1, 160, 32, 64, 8, 33, 0, false, {GI_GATING_ALL, true, true, false, 2.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 80, 4, 3, 16, false, {GI_GATING_SIGMOID, true, false, true, 1}, 2},
    {GI_GGML_TYPE_Q4_0, 96, 32, 5, 3, 7, 2, true, {GI_GATING_SIGMOID, false, true, false, 0.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 6, 2, 1, 0, true, {0}, 0},
};

static const char *const shapes[] = {"split", "row", "texel"}; // of GLINFER_GEMV

uint32_t kt_expert_rows(uint32_t n, bool is_paired)
{
    return is_paired ? (n + 7) / 8 * 16 : (n + 15) / 16 * 16;
}

// Gate and up, or gate alone where that lies apart.
static uint32_t gate_rows(const struct kt_expert_case *c)
{
    return kt_expert_rows(c->n_ff, !c->is_split);
}

// Mixtures of five experts have biases.
static bool has_bias(const struct kt_expert_case *c)
{
    return c->n_expert == 5;
}

void kt_expert_name(const char *form, const struct kt_expert_case *c, char *text, size_t size)
{
    snprintf(text, size, "%s %s %u of %u experts, %u x %u, %u tokens, parts of %u%s", form,
             gi_ggml_type_find(c->type)->name, c->n_used, c->n_expert, c->n_ff, c->n_embd,
             c->n_tokens, c->part_experts, c->is_split ? " apart" : "");
}

static void name_case(size_t index, char *text, size_t size)
{
    kt_expert_name(shapes[index % COUNT(shapes)], &kt_expert_cases[index / COUNT(shapes)], text,
                   size);
}

float *kt_expert_inputs(struct kt_run *run, const char *label, struct gi_rows *rows,
                        uint32_t n_tokens, uint32_t stride, float span)
{
    size_t n = (size_t)n_tokens * stride;
    float *values = kt_alloc(n, sizeof(float));
    kt_fill(run, values, n, -span, span);
    *rows = (struct gi_rows){kt_range(run, label, values, n * sizeof(float)), stride, false};
    return values;
}

static bool init_weights(struct kt_mixture *m, struct kt_run *run)
{
    const struct kt_expert_case *c = m->c;
    const uint32_t up_rows = gate_rows(c), down_rows = kt_expert_rows(c->n_embd, false);
    const uint32_t n_halves = c->is_split ? 2 : 1;
    return kt_weight_init(&m->gate_up, run,
                          &(struct kt_weight_params){.type = c->type,
                                                     .is_split = c->is_split,
                                                     .up_type = GI_GGML_TYPE_Q8_0,
                                                     .n_rows = n_halves * c->n_expert * up_rows,
                                                     .n_cols = c->n_embd,
                                                     .has_bias = has_bias(c),
                                                     .max_part_rows = c->part_experts * up_rows}) &
           kt_weight_init(&m->down, run,
                          &(struct kt_weight_params){.type = c->type,
                                                     .n_rows = c->n_expert * down_rows,
                                                     .n_cols = c->n_ff,
                                                     .has_bias = has_bias(c),
                                                     .max_part_rows = c->part_experts * down_rows});
}

bool kt_mixture_init(struct kt_mixture *m, struct kt_run *run, const struct kt_expert_case *c)
{
    const uint32_t act_width = kt_pad32(c->n_ff), y_width = kt_pad32(c->n_embd),
                   route = c->n_used * act_width;
    memset(m, 0, sizeof(*m));
    m->c = c;
    m->experts = (struct gi_experts){.n_expert = c->n_expert,
                                     .n_used = c->n_used,
                                     .n_shared = c->n_shared,
                                     .n_ff = c->n_ff,
                                     .act_width = act_width,
                                     .route = route,
                                     .y_width = y_width,
                                     .router = c->router};
    m->logits = kt_expert_inputs(run, "logits", &m->logits_rows, c->n_tokens,
                                 kt_pad32(gi_router_rows(&m->experts)), 3);
    m->bias = kt_alloc(c->n_expert, sizeof(float));
    kt_fill(run, m->bias, c->n_expert, -0.5f, 0.5f);
    m->vectors.range = kt_range(run, "bias", m->bias, c->n_expert * sizeof(float));
    m->residual = kt_expert_inputs(run, "x", &m->x, c->n_tokens, y_width, 1);
    m->act =
        kt_expert_inputs(run, "act", &m->act_rows, c->n_tokens, kt_pad32(route + 4 * c->n_used), 1);
    m->y = kt_expert_inputs(run, "y", &m->y_rows, c->n_tokens, c->n_used * y_width, 1);
    return init_weights(m, run) && !run->has_failed;
}

void kt_mixture_finish(struct kt_mixture *m)
{
    kt_weight_finish(&m->gate_up);
    kt_weight_finish(&m->down);
    free(m->logits);
    free(m->bias);
    free(m->input);
    free(m->residual);
    free(m->act);
    free(m->y);
}

static bool read_back(struct kt_run *run, struct kt_mixture *m)
{
    const size_t n_tokens = m->c->n_tokens;
    return kt_read(run, &m->act_rows.range, 0, m->act,
                   n_tokens * m->act_rows.stride * sizeof(float)) &&
           kt_read(run, &m->y_rows.range, 0, m->y, n_tokens * m->y_rows.stride * sizeof(float));
}

//-- checks ----------------------------------------------------------------------------------------

// In f16 a value has the rounding of both factors and of short sums, of which each may be as large
// as all: few of the activations are large. One that is stored so has that of the largest of its
// row.
static bool check_values(struct kt_run *run, const struct kt_mixture *m, const char *what,
                         const float *found, const struct ref_value *want, uint32_t n,
                         double largest)
{
    const double epsilon = m->is_half ? 4 * HALF_EPSILON : ROUNDINGS * (double)FLT_EPSILON;
    for (uint32_t i = 0; i < n; i++) {
        const double bound =
            epsilon * want[i].magnitude + (m->is_half ? HALF_EPSILON * largest : 0);
        if (!(fabs((double)found[i] - want[i].value) <= bound)) {
            return kt_fail(run, "%s[%u] is %.9g, want %.9g +- %.3g", what, i, (double)found[i],
                           want[i].value, bound);
        }
    }
    return true;
}

static bool check_act(struct kt_run *run, const struct kt_mixture *m, uint32_t expert,
                      const float *x, double factor, const float *found)
{
    const uint32_t n_ff = m->c->n_ff, n_embd = m->c->n_embd, rows = gate_rows(m->c);
    const uint32_t up = m->c->is_split ? m->c->n_expert * rows : rows / 2;
    const float *dense = m->gate_up.dense + (size_t)expert * rows * n_embd;
    struct ref_value *y = kt_alloc(2 * (size_t)n_ff, sizeof(*y));
    struct ref_value *act = kt_alloc(n_ff, sizeof(*act));
    const float *bias = m->gate_up.bias + (size_t)expert * rows;
    ref_gemv(y, dense, x, bias, n_ff, n_embd, factor);
    ref_gemv(y + n_ff, dense + (size_t)up * n_embd, x, bias + up, n_ff, n_embd, factor);
    double largest = 0;
    for (uint32_t i = 0; i < n_ff; i++) {
        act[i] = ref_gemv_glu(y[i], y[n_ff + i], REF_SILU);
        largest = fmax(largest, fabs(act[i].value));
    }
    const bool is_good = check_values(run, m, "act", found, act, n_ff, largest);
    free(act);
    free(y);
    return is_good;
}

static bool check_down(struct kt_run *run, const struct kt_mixture *m, uint32_t expert,
                       const float *act, const float *found)
{
    const uint32_t n_embd = m->c->n_embd, n_ff = m->c->n_ff, rows = kt_expert_rows(n_embd, false);
    struct ref_value *y = kt_alloc(rows, sizeof(*y));
    const float *bias = m->down.bias + (size_t)expert * rows;
    ref_gemv(y, m->down.dense + (size_t)expert * rows * n_ff, act, bias, rows, n_ff, 1);
    const bool is_good = check_values(run, m, "y", found, y, n_embd, 0);
    free(y);
    return is_good;
}

// The experts and shares of a token, and each expert's results from what the GPU gave it.
bool kt_mixture_check_token(struct kt_run *run, const struct kt_mixture *m, uint32_t token,
                            const float *x, double factor)
{
    const struct gi_experts *e = &m->experts;
    const float *act = m->act + (size_t)token * m->act_rows.stride;
    const float *y = m->y + (size_t)token * m->y_rows.stride;
    const float *logits = m->logits + (size_t)token * m->logits_rows.stride;
    uint32_t experts[MAX_USED];
    double shares[MAX_USED];
    const struct gi_router_rule *rule = &m->c->router;
    const float *gate = rule->has_shared_gate ? logits + gi_router_rows(e) - 16 : NULL;
    const struct ref_router router = {.gating = (enum ref_gating)rule->gating, // numbered alike
                                      .is_normalised = rule->is_normalised,
                                      .scale = (double)rule->scale,
                                      .bias = rule->has_bias ? m->bias : NULL,
                                      .n_shared = e->n_shared,
                                      .gate = gate};
    ref_route(logits, &router, e->n_expert, e->n_used, experts, shares);
    for (uint32_t i = 0; i < e->n_used; i++) {
        const float *route = act + e->route + 4 * (size_t)i;
        const double bound = ROUNDINGS * (double)FLT_EPSILON * shares[i];
        if (route[0] != (float)experts[i] || !(fabs((double)route[1] - shares[i]) <= bound)) {
            return kt_fail(run, "token %u takes expert %g by %.9g, want %u by %.9g", token,
                           (double)route[0], (double)route[1], experts[i], shares[i]);
        }
        if (!check_act(run, m, experts[i], x, factor, act + (size_t)i * e->act_width) ||
            !check_down(run, m, experts[i], act + (size_t)i * e->act_width,
                        y + (size_t)i * e->y_width)) {
            return false;
        }
    }
    return true;
}

bool kt_mixture_check_sum(struct kt_run *run, const struct kt_mixture *m, uint32_t token,
                          const struct gi_range *range, size_t offset, const float *before)
{
    const struct gi_experts *e = &m->experts;
    const uint32_t n = m->c->n_embd;
    double *want = kt_alloc(n, sizeof(double)), *bound = kt_alloc(n, sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        want[i] = (double)before[i];
        bound[i] = fabs(want[i]);
        for (uint32_t k = 0; k < e->n_used; k++) {
            const double share =
                (double)m->act[(size_t)token * m->act_rows.stride + e->route + 4 * (size_t)k + 1];
            const double y =
                (double)m->y[(size_t)token * m->y_rows.stride + (size_t)k * e->y_width + i];
            want[i] += (double)KT_EXPERT_SCALE * share * y;
            bound[i] += fabs((double)KT_EXPERT_SCALE * share * y);
        }
        bound[i] *= ROUNDINGS * (double)FLT_EPSILON;
    }
    const bool is_good = kt_compare_f32(run, "x", range, offset, want, bound, n);
    free(want);
    free(bound);
    return is_good;
}

//-- a batch ---------------------------------------------------------------------------------------

static void record_batch(struct kt_run *run, struct kt_mixture *m, const struct gi_rows *input)
{
    struct gi_recorder *recorder = &run->recorder;
    gi_op_route(recorder, &m->experts, GI_EXPERTS_BATCH, &m->logits_rows, &m->vectors, 0,
                &m->act_rows);
    gi_op_gemv_expert_glu(recorder, &m->experts, GI_ACTIVATION_SILU, &m->gate_up.weight, NULL,
                          input, &m->act_rows);
    gi_op_gemv_expert(recorder, &m->experts, GI_EXPERTS_BATCH, &m->down.weight, &m->act_rows,
                      &m->y_rows);
    gi_op_add_experts_batch(recorder, &m->experts, &m->act_rows, &m->y_rows, m->c->n_embd,
                            KT_EXPERT_SCALE, &m->x);
}

static bool run_batch(struct kt_run *run, size_t index)
{
    const struct kt_expert_case *c = &kt_expert_cases[index / COUNT(shapes)];
    struct kt_mixture m;
    struct gi_rows input;
    bool is_good = kt_mixture_init(&m, run, c);
    m.input = kt_expert_inputs(run, "input", &input, c->n_tokens, kt_pad32(c->n_embd), 1);
    is_good = is_good && kt_set(run, "GLINFER_GEMV", shapes[index % COUNT(shapes)]);
    if (is_good) {
        record_batch(run, &m, &input);
    }
    is_good = is_good && kt_seal(run) && kt_replay(run, 0, c->n_tokens) && read_back(run, &m);
    for (uint32_t t = 0; is_good && t < c->n_tokens; t++) {
        const size_t row = (size_t)t * m.x.stride;
        is_good =
            kt_mixture_check_token(run, &m, t, m.input + (size_t)t * input.stride, 1) &&
            kt_mixture_check_sum(run, &m, t, &m.x.range, row * sizeof(float), m.residual + row);
    }
    kt_mixture_finish(&m);
    return is_good;
}

const struct kt_suite kt_experts = {"experts", COUNT(kt_expert_cases) * COUNT(shapes), name_case,
                                    run_batch};

//-- a decode step ---------------------------------------------------------------------------------

static void record_step(struct kt_run *run, struct kt_mixture *m, struct gi_stream *stream,
                        const struct gi_vectors *vectors)
{
    struct gi_recorder *recorder = &run->recorder;
    gi_op_route(recorder, &m->experts, GI_EXPERTS_STEP, &m->logits_rows, &m->vectors, 0,
                &m->act_rows);
    gi_op_gemv_expert_glu(recorder, &m->experts, GI_ACTIVATION_SILU, &m->gate_up.weight, stream,
                          NULL, &m->act_rows);
    gi_op_gemv_expert(recorder, &m->experts, GI_EXPERTS_STEP, &m->down.weight, &m->act_rows,
                      &m->y_rows);
    gi_op_add_experts(recorder, &m->experts, &m->act_rows, &m->y_rows, vectors, 0, KT_EXPERT_SCALE,
                      stream);
}

// Sizes of stages: the cases after those of the shapes.
static const uint32_t stages[] = {128, 512};

#define N_STEP (COUNT(shapes) + COUNT(stages))

static void name_step(size_t index, char *text, size_t size)
{
    const size_t form = index % N_STEP;
    char stage[40];
    if (form >= COUNT(shapes)) {
        snprintf(stage, sizeof(stage), "stages of %u,", stages[form - COUNT(shapes)]);
    }
    kt_expert_name(form < COUNT(shapes) ? shapes[form] : stage, &kt_expert_cases[index / N_STEP],
                   text, size);
}

static bool set_form(struct kt_run *run, size_t form)
{
    if (form < COUNT(shapes)) {
        return kt_set(run, "GLINFER_GEMV", shapes[form]);
    }
    run->recorder.form.group_size = stages[form - COUNT(shapes)];
    run->recorder.form.n_groups = 3;
    return kt_set(run, "GLINFER_GEMV", NULL);
}

static bool fits(const struct kt_run *run, size_t form)
{
    return form < COUNT(shapes) ||
           stages[form - COUNT(shapes)] <= gi_gpu_limits(run->gpu)->max_invocations;
}

// The stream's norm is the input, its ssq the sum of squares that 1 / rms comes from.
static bool run_step(struct kt_run *run, size_t index)
{
    struct kt_expert_case c = kt_expert_cases[index / N_STEP];
    if (!fits(run, index % N_STEP)) {
        return true;
    }
    struct kt_mixture m;
    struct gi_stream stream = {0};
    c.n_tokens = 1;
    bool is_good = kt_mixture_init(&m, run, &c);
    const size_t size = (size_t)gi_stream_layout(&stream, c.n_embd, 2, NORM_EPS);
    float *values = m.input = kt_alloc(size, 1);
    float *gamma = kt_alloc(c.n_embd, sizeof(float));
    kt_fill(run, values, size / sizeof(float), -1, 1);
    kt_fill(run, gamma, c.n_embd, 0.5f, 2);
    values[stream.ssq] = (float)c.n_embd;
    stream.n_ssq = 1;
    stream.range = kt_range(run, "stream", values, size);
    const struct gi_vectors vectors = {kt_range(run, "gamma", gamma, c.n_embd * sizeof(float)), 0};
    is_good = is_good && set_form(run, index % N_STEP);
    if (is_good) {
        record_step(run, &m, &stream, &vectors);
    }
    is_good =
        is_good && kt_seal(run) && kt_replay(run, 0, 1) && read_back(run, &m) &&
        kt_mixture_check_token(run, &m, 0, values + stream.norm, 1 / sqrt(1 + (double)NORM_EPS)) &&
        kt_mixture_check_sum(run, &m, 0, &stream.range, stream.residual * sizeof(float),
                             values + stream.residual);
    free(gamma);
    kt_mixture_finish(&m);
    return is_good;
}

const struct kt_suite kt_experts_step = {"experts_step", COUNT(kt_expert_cases) * N_STEP, name_step,
                                         run_step};
