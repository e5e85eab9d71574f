// A mixture of experts over a batch that is sorted by expert, in f32 and in f16.
#include "ops/gemm/half_rows.h"
#include "quant/quant.h"
#include "tests/kernel/cases/cases_experts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Products in f16, with more rows of an expert than a tile has and fewer.
static const struct kt_expert_case half_cases[] = {
    {GI_GGML_TYPE_Q4_1, 64, 32, 2, 1, 150, 0, false, {0}, 0},
    {GI_GGML_TYPE_Q4_0, 96, 96, 5, 3, 33, 2, false, {0}, 0},
    {GI_GGML_TYPE_MXFP4, 160, 32, 4, 2, 70, 0, false, {GI_GATING_ALL, true, true, false, 2.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 5, 2, 40, 2, true, {GI_GATING_SIGMOID, false, true, false, 0.5f}, 1},
};

// Forms of products: a batch's and, where it goes by tiles, theirs.
static const char *const batches[][2] = {
    {"row", NULL},        {"lane", NULL},       {"split", "64x64"},
    {"split", "64x64:3"}, {"split", "32x64:2"}, {"split", "narrow"},
    {"split", "rolled"},  {"split", "short"},   {"split", "low"},
};

static void name_sorted(size_t index, char *text, size_t size)
{
    const char *const *form = batches[index % COUNT(batches)];
    char both[40];
    snprintf(both, sizeof(both), "%s %s", form[0], form[1] ? form[1] : "");
    kt_expert_name(both, &kt_expert_cases[index / COUNT(batches)], text, size);
}

static void record_sorted(struct kt_run *run, struct kt_mixture *m, const struct gi_rows *input,
                          const struct gi_sorted_rows *rows, const struct gi_rows *pairs,
                          const struct gi_rows *y)
{
    struct gi_recorder *recorder = &run->recorder;
    const struct gi_experts *e = &m->experts;
    gi_op_route_sorted(recorder, e, &m->logits_rows, &m->vectors, 0, rows);
    gi_op_gather_rows(recorder, e, input, rows);
    gi_op_gemm_experts(recorder, "gate_up", e, &m->gate_up.weight, rows, false, pairs);
    gi_op_glu_experts(recorder, e, GI_ACTIVATION_SILU, &m->gate_up.weight, pairs, rows);
    gi_op_gemm_experts(recorder, "down", e, &m->down.weight, rows, true, y);
    gi_op_add_sorted_experts(recorder, e, rows, y, m->c->n_embd, KT_EXPERT_SCALE, &m->x);
}

// Reads columns of a row in f16 (glsl/gemm/half_rows.glsl) of those that begin at `rows`.
static void read_half_row(const uint32_t *rows, uint32_t row, uint32_t width, float *values)
{
    const uint32_t tile_words = 4 * (8 * 128 + 32), quad = row % 128 / 4;
    rows += (size_t)(row / 128) * gi_half_row_tiles(width) * tile_words;
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t *tile = rows + (size_t)i / 64 * tile_words;
        const uint32_t bits = tile[4 * ((row % 4 * 8 + i % 64 / 8) * 32 + quad) + i % 4];
        float scale;
        memcpy(&scale, tile + (size_t)4 * (8 * 128 + quad) + row % 4, sizeof(scale));
        values[i] = scale * gi_half_to_float((uint16_t)(i % 8 < 4 ? bits : bits >> 16));
    }
}

static void read_act(const struct gi_experts *e, const struct gi_sorted_rows *rows,
                     const float *sorted, const float *route, float *act)
{
    if (rows->is_half) {
        read_half_row((const uint32_t *)(const void *)(sorted + rows->act), (uint32_t)route[3],
                      e->act_width, act);
    } else {
        memcpy(act, sorted + rows->act + (size_t)route[2] * e->act_width,
               e->act_width * sizeof(float));
    }
}

// Copies what is sorted to where the checks look for it.
static bool unsort(struct kt_run *run, struct kt_mixture *m, const struct gi_sorted_rows *rows,
                   const struct gi_rows *y)
{
    const struct gi_experts *e = &m->experts;
    const size_t n = (size_t)m->c->n_tokens * e->n_used, n_range = rows->range.size / 4;
    float *sorted = kt_alloc(n_range, sizeof(float)), *sorted_y = kt_alloc(n, e->y_width * 4);
    bool is_good = kt_read(run, &rows->range, 0, sorted, n_range * sizeof(float)) &&
                   kt_read(run, &y->range, 0, sorted_y, n * e->y_width * sizeof(float));
    for (size_t i = 0; is_good && i < n; i++) {
        const size_t token = i / e->n_used, k = i % e->n_used;
        const float *route = sorted + rows->route + 4 * i;
        const size_t place = (size_t)route[2];
        float *act = m->act + token * m->act_rows.stride;
        is_good = place < n || kt_fail(run, "place %g of %zu", (double)route[2], n);
        if (is_good) {
            memcpy(act + e->route + 4 * k, route, 4 * sizeof(float));
            read_act(e, rows, sorted, route, act + k * e->act_width);
            memcpy(m->y + token * m->y_rows.stride + k * e->y_width, sorted_y + place * e->y_width,
                   e->y_width * sizeof(float));
        }
    }
    free(sorted);
    free(sorted_y);
    return is_good;
}

static bool check_sorted(struct kt_run *run, struct kt_mixture *m, const struct gi_rows *input)
{
    const uint32_t n = m->c->n_tokens * m->experts.n_used,
                   stride = 2 * kt_expert_rows(m->c->n_ff, false);
    const uint32_t width = stride > m->experts.y_width ? stride : m->experts.y_width;
    struct gi_sorted_rows rows;
    struct gi_rows space, pairs;
    // The range also has room for the tiles of cases with more experts than rows, and for rows in
    // f16 up to whole tiles.
    free(kt_expert_inputs(run, "sorted", &space, m->c->n_tokens + m->c->n_expert + 64,
                          gi_sorted_width(&m->experts), 1));
    free(kt_expert_inputs(run, "pairs", &pairs, n, width, 1));
    gi_sorted_rows_init(&rows, &run->recorder, &m->experts, space.range, m->c->n_tokens);
    pairs.stride = kt_pad32(m->gate_up.weight.n_rows / m->experts.n_expert);
    const struct gi_rows y = {pairs.range, m->experts.y_width, false};
    record_sorted(run, m, input, &rows, &pairs, &y);
    bool is_good = kt_seal(run) && kt_replay(run, 0, m->c->n_tokens) && unsort(run, m, &rows, &y);
    for (uint32_t t = 0; is_good && t < m->c->n_tokens; t++) {
        const size_t row = (size_t)t * m->x.stride;
        is_good =
            kt_mixture_check_token(run, m, t, m->input + (size_t)t * input->stride, 1) &&
            kt_mixture_check_sum(run, m, t, &m->x.range, row * sizeof(float), m->residual + row);
    }
    return is_good;
}

static bool run_sorted(struct kt_run *run, size_t index)
{
    const char *const *form = batches[index % COUNT(batches)];
    const struct kt_expert_case *c = &kt_expert_cases[index / COUNT(batches)];
    struct kt_mixture m;
    struct gi_rows input;
    if (gi_gpu_limits(run->gpu)->is_indirect) { // lists of prompts are always direct
        run->is_left_out = true;
        return true;
    }
    bool is_good = kt_mixture_init(&m, run, c);
    m.input = kt_expert_inputs(run, "input", &input, c->n_tokens, kt_pad32(c->n_embd), 1);
    is_good = is_good && kt_set(run, "GLINFER_BATCH", form[0]) &&
              kt_set(run, "GLINFER_GEMM", form[1]) && check_sorted(run, &m, &input);
    kt_set(run, "GLINFER_BATCH", NULL);
    kt_set(run, "GLINFER_GEMM", NULL);
    kt_mixture_finish(&m);
    return is_good;
}

const struct kt_suite kt_experts_sorted = {
    "experts_sorted", COUNT(kt_expert_cases) * COUNT(batches), name_sorted, run_sorted};

static void name_half(size_t index, char *text, size_t size)
{
    kt_expert_name("half", &half_cases[index], text, size);
}

static bool run_half(struct kt_run *run, size_t index)
{
    const struct kt_expert_case *c = &half_cases[index];
    struct kt_mixture m;
    struct gi_rows input;
    if (gi_gpu_limits(run->gpu)->is_indirect ||
        !gi_program_available(run->gpu, GI_PROGRAM_GEMM_HALF)) {
        run->is_left_out = true;
        return true;
    }
    bool is_good = kt_mixture_init(&m, run, c);
    m.is_half = true;
    run->recorder.is_half = true;
    m.input = kt_expert_inputs(run, "input", &input, c->n_tokens, kt_pad32(c->n_embd), 1);
    is_good = is_good && kt_set(run, "GLINFER_BATCH", "split") && check_sorted(run, &m, &input);
    kt_set(run, "GLINFER_BATCH", NULL);
    kt_mixture_finish(&m);
    return is_good;
}

const struct kt_suite kt_experts_half = {"experts_half", COUNT(half_cases), name_half, run_half};
