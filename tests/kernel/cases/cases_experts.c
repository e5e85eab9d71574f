// A mixture of experts: routing, the products of the chosen ones and their sum, in one table: of a
// step, of a batch as it comes, and of one that is sorted by expert.
#include "ops/experts/experts.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#define NORM_EPS     1e-5f
#define EXPERT_SCALE 0.75f // of the sum

static const struct mixture {
    uint32_t type, n_embd, n_ff, n_expert, n_used, part_experts;
    enum { PAIRS, SPLIT, UNGATED } form; // SPLIT: up is Q8_0, whatever gate is
    struct gi_router_rule router;        // zero: the softmax of the chosen ones
    uint32_t n_shared;                   // among both
} mixtures[] = {
    {GI_GGML_TYPE_F32, 32, 16, 4, 1, 0, PAIRS, {0}, 0},
    {GI_GGML_TYPE_Q8_0, 64, 96, 6, 2, 0, PAIRS, {GI_GATING_ALL, false, false, false, 1}, 0},
    {GI_GGML_TYPE_Q4_0, 96, 64, 5, 3, 2, PAIRS, {0}, 1},
    {GI_GGML_TYPE_Q4_1, 160, 32, 64, 8, 0, PAIRS, {GI_GATING_ALL, true, true, false, 2.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 80, 4, 16, PAIRS, {GI_GATING_SIGMOID, true, false, true, 1}, 2},
    {GI_GGML_TYPE_Q4_0, 96, 32, 5, 3, 2, SPLIT, {GI_GATING_SIGMOID, false, true, false, 0.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 6, 2, 0, SPLIT, {0}, 0},
    // For products in f16.
    {GI_GGML_TYPE_Q4_1, 64, 32, 2, 1, 0, PAIRS, {0}, 0},
    {GI_GGML_TYPE_Q4_0, 96, 96, 5, 3, 2, PAIRS, {0}, 0},
    {GI_GGML_TYPE_MXFP4, 160, 32, 4, 2, 0, PAIRS, {GI_GATING_ALL, true, true, false, 2.5f}, 0},
    {GI_GGML_TYPE_F16, 64, 40, 5, 2, 2, SPLIT, {GI_GATING_SIGMOID, false, true, false, 0.5f}, 1},
    {GI_GGML_TYPE_Q4_0, 96, 64, 5, 3, 2, UNGATED, {GI_GATING_ALL, false, false, false, 1}, 0},
};

// The buffers of a case.
struct buffers {
    const struct mixture *mixture;
    struct gi_experts experts;
    struct gi_weight gate_up, down;
    struct gi_vectors vectors; // biases, the gamma of the next norm, factors
    uint32_t factor;           // offset of factors, which mixtures that use two experts have
    struct gi_rows logits, input, x, act, y;
};

// Returns the rows of an expert's weight, of n results or of n pairs of them.
static uint32_t expert_rows(uint32_t n, bool is_paired)
{
    return is_paired ? (n + 7) / 8 * 16 : (n + 15) / 16 * 16;
}

// Mixtures of five experts have biases.
static void make_weights(struct kt_run *run, struct buffers *b)
{
    const struct mixture *m = b->mixture;
    const uint32_t up_rows = expert_rows(m->n_ff, m->form == PAIRS);
    const uint32_t down_rows = expert_rows(m->n_embd, false);
    struct kt_weight_params params = {
        .type = m->type,
        .is_split = m->form == SPLIT,
        .up_type = GI_GGML_TYPE_Q8_0,
        .n_rows = (m->form == SPLIT ? 2 : 1) * m->n_expert * up_rows,
        .n_cols = m->n_embd,
        .has_bias = m->n_expert == 5,
        .max_part_rows = m->part_experts * up_rows,
    };
    b->gate_up = kt_weight(run, &params);
    b->gate_up.is_ungated = m->form == UNGATED;
    params.is_split = false;
    params.n_rows = m->n_expert * down_rows;
    params.n_cols = m->n_ff;
    params.max_part_rows = m->part_experts * down_rows;
    b->down = kt_weight(run, &params);
}

static struct buffers make_buffers(struct kt_run *run, uint32_t mixture, uint32_t n_tokens)
{
    const struct mixture *m = &mixtures[mixture];
    const uint32_t act_width = kt_pad32(m->n_ff), y_width = kt_pad32(m->n_embd),
                   route = m->n_used * act_width;
    struct buffers b = {.mixture = m,
                        .experts = {.n_expert = m->n_expert,
                                    .n_used = m->n_used,
                                    .n_shared = m->n_shared,
                                    .n_ff = m->n_ff,
                                    .act_width = act_width,
                                    .route = route,
                                    .y_width = y_width,
                                    .router = m->router}};
    b.logits = kt_random_rows(run, "logits", n_tokens, kt_pad32(gi_router_rows(&b.experts)), 1.5f);
    b.vectors = kt_random_vectors(run, 2 * kt_pad32(m->n_expert) + m->n_embd);
    b.factor = m->n_used == 2 ? kt_pad32(m->n_expert) + m->n_embd : UINT32_MAX;
    b.input = kt_random_rows(run, "input", n_tokens, y_width, 1);
    b.x = kt_random_rows(run, "x", n_tokens, y_width, 1);
    b.act = kt_random_rows(run, "act", n_tokens, kt_pad32(route + 4 * m->n_used), 1);
    b.y = kt_random_rows(run, "y", n_tokens, m->n_used * y_width, 1);
    make_weights(run, &b);
    return b;
}

static uint64_t count_bytes(const struct buffers *b)
{
    return kt_weight_bytes(&b->gate_up) + kt_weight_bytes(&b->down);
}

#define MIXTURES KT_NUMBERS("mixture", 0, 1, 2, 3, 4, 5, 6, 11)

//-- a batch ---------------------------------------------------------------------------------------

static const char *const step_forms[] = {"split", "row", "texel", "stages of 128", "stages of 512"};

static uint64_t record_experts(struct kt_run *run, const uint32_t *v)
{
    struct gi_recorder *recorder = &run->recorder;
    struct buffers b = make_buffers(run, v[0], v[2]);
    if (run->has_failed || !kt_set(run, "GLINFER_GEMV", step_forms[v[1]])) {
        return 0;
    }
    gi_op_route(recorder, &b.experts, GI_EXPERTS_BATCH, &b.logits, &b.vectors, 0, b.factor, &b.act);
    gi_op_gemv_expert_glu(recorder, &b.experts, GI_ACTIVATION_SILU, &b.gate_up, NULL, &b.input,
                          &b.act);
    gi_op_gemv_expert(recorder, &b.experts, GI_EXPERTS_BATCH, &b.down, &b.act, &b.y);
    gi_op_add_experts_batch(recorder, &b.experts, &b.act, &b.y, b.mixture->n_embd, EXPERT_SCALE,
                            b.factor == UINT32_MAX, &b.x);
    return count_bytes(&b);
}

static const struct kt_axis batch_axes[] = {MIXTURES, KT_NAMED("form", 3, step_forms),
                                            KT_NUMBERS("tokens", 1, 7)};
KT_DESCRIBE(experts, batch_axes);

//-- a step ----------------------------------------------------------------------------------------

// The stream's norm is the input, its ssq the sum of squares that 1 / rms comes from.
static uint64_t record_experts_step(struct kt_run *run, const uint32_t *v)
{
    struct gi_recorder *recorder = &run->recorder;
    struct buffers b = make_buffers(run, v[0], 1);
    struct gi_stream stream = kt_stream(run, b.mixture->n_embd, 2, NORM_EPS, 1);
    if (v[1] >= 3) {
        recorder->form = (struct gi_list_form){.group_size = v[1] == 3 ? 128 : 512, .n_groups = 3};
    }
    run->is_left_out = recorder->form.group_size > gi_gpu_limits(run->gpu)->max_invocations;
    if (run->has_failed || run->is_left_out ||
        !kt_set(run, "GLINFER_GEMV", v[1] < 3 ? step_forms[v[1]] : NULL)) {
        return 0;
    }
    gi_op_route(recorder, &b.experts, GI_EXPERTS_STEP, &b.logits, &b.vectors, 0, b.factor, &b.act);
    gi_op_gemv_expert_glu(recorder, &b.experts, GI_ACTIVATION_SILU, &b.gate_up, &stream, NULL,
                          &b.act);
    gi_op_gemv_expert(recorder, &b.experts, GI_EXPERTS_STEP, &b.down, &b.act, &b.y);
    gi_op_add_experts(recorder, &b.experts, &b.act, &b.y, &b.vectors, kt_pad32(b.mixture->n_expert),
                      EXPERT_SCALE, &stream);
    return count_bytes(&b);
}

static const struct kt_axis step_axes[] = {MIXTURES, KT_NAMED("form", 5, step_forms)};
KT_DESCRIBE(experts_step, step_axes);

//-- a sorted batch --------------------------------------------------------------------------------

static void record_sorted(struct kt_run *run, uint32_t mixture, uint32_t n_tokens)
{
    struct gi_recorder *recorder = &run->recorder;
    struct buffers b = make_buffers(run, mixture, n_tokens);
    const struct gi_experts *e = &b.experts;
    const uint32_t n = n_tokens * e->n_used, stride = 2 * expert_rows(b.mixture->n_ff, false);
    // The range also has room for the tiles of cases with more experts than rows, and for rows in
    // f16 up to whole tiles.
    const struct gi_rows space =
        kt_random_rows(run, "sorted", n_tokens + b.mixture->n_expert + 64, gi_sorted_width(e), 1);
    struct gi_rows pairs =
        kt_random_rows(run, "pairs", n, stride > e->y_width ? stride : e->y_width, 1);
    const struct gi_rows y = {pairs.range, e->y_width, false};
    struct gi_sorted_rows rows;
    pairs.stride = kt_pad32(b.gate_up.n_rows / e->n_expert);
    if (run->has_failed) {
        return;
    }
    gi_sorted_rows_init(&rows, recorder, e, space.range, n_tokens);
    gi_op_route_sorted(recorder, e, &b.logits, &b.vectors, 0, b.factor, &rows);
    gi_op_gather_rows(recorder, e, &b.input, &rows);
    gi_op_gemm_experts(recorder, "gate_up", e, &b.gate_up, &rows, false, &pairs);
    gi_op_glu_experts(recorder, e, GI_ACTIVATION_SILU, &b.gate_up, &pairs, &rows);
    gi_op_gemm_experts(recorder, "down", e, &b.down, &rows, true, &y);
    gi_op_add_sorted_experts(recorder, e, &rows, &y, b.mixture->n_embd, EXPERT_SCALE,
                             b.factor == UINT32_MAX, &b.x);
}

// Forms of products: a batch's and, where it goes by tiles, theirs.
static const char *const sorted_forms[] = {"row",           "lane",          "split 64x64",
                                           "split 64x64:3", "split 32x64:2", "split narrow",
                                           "split rolled",  "split short",   "split low"};

// With 80 experts tiles are nearly empty, and take two thirds of the time: one size of tiles
// has them.
static uint64_t record_experts_sorted(struct kt_run *run, const uint32_t *v)
{
    enum { MOST_EXPERTS = 80, N_FORM = 3 };
    const char *form = sorted_forms[v[1]];
    if (mixtures[v[0]].n_expert == MOST_EXPERTS && v[1] >= N_FORM && kt_leave_out(run)) {
        return 0;
    }
    run->is_left_out = gi_gpu_limits(run->gpu)->is_indirect; // lists of prompts are always direct
    if (!run->is_left_out && kt_set(run, "GLINFER_BATCH", v[1] < 2 ? form : "split") &&
        kt_set(run, "GLINFER_GEMM", v[1] < 2 ? NULL : form + 6)) {
        record_sorted(run, v[0], v[2]);
    }
    return 0;
}

static const struct kt_axis sorted_axes[] = {MIXTURES, KT_NAMED("form", 9, sorted_forms),
                                             KT_NUMBERS("tokens", 1, 7, 33)};
KT_DESCRIBE(experts_sorted, sorted_axes);

// Products in f16, with more rows of an expert than a tile has and fewer.
static uint64_t record_experts_half(struct kt_run *run, const uint32_t *v)
{
    run->is_left_out = gi_gpu_limits(run->gpu)->is_indirect ||
                       !gi_program_available(run->gpu, GI_PROGRAM_GEMM_HALF);
    run->recorder.is_half = true;
    if (!run->is_left_out && kt_set(run, "GLINFER_BATCH", "split")) {
        record_sorted(run, v[0], v[1]);
    }
    return 0;
}

static const struct kt_axis half_axes[] = {KT_NUMBERS("mixture", 7, 8, 9, 10),
                                           KT_NUMBERS("tokens", 40, 150)};
KT_DESCRIBE(experts_half, half_axes);
