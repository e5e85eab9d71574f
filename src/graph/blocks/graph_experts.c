// Mixtures of experts.
#include "base/round.h"
#include "graph/graph_private.h"

#include <assert.h>

// Returns true if a batch sorts its tokens by expert: the rows are then laid out.
static bool sorts_rows(const struct gi_graph *graph, struct gi_sorted_rows *rows)
{
    const struct gi_rows *act = &graph->ffn_act_rows;
    return !graph->joint && gi_sorted_rows_init(rows, &graph->recorder, &graph->experts, act->range,
                                                gi_rows_room(act));
}

// Records the choice of experts by the logits in row or, of a batch, in qkv.
static void choose(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_experts *experts = &graph->experts;
    const struct gi_vectors *vectors = &graph->vectors;
    const uint32_t bias = norm_offset(graph, layer, GI_NORM_ROUTER_BIAS);
    const uint32_t factor = norm_offset(graph, layer, GI_NORM_EXPERT_FACTOR);
    const struct gi_rows act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    struct gi_sorted_rows rows;
    if (!graph->is_batch) {
        gi_op_route(recorder, experts, GI_EXPERTS_STEP, &graph->row, vectors, bias, factor, &act);
    } else if (sorts_rows(graph, &rows)) {
        gi_op_route_sorted(recorder, experts, &graph->qkv, vectors, bias, factor, &rows);
    } else {
        gi_op_route(recorder, experts, GI_EXPERTS_BATCH, &graph->qkv, vectors, bias, factor,
                    &graph->ffn_act_rows);
    }
}

// Records the choice of experts by the norm of x or, with GI_NORM_NONE, by x; of a batch, whose
// norm is there.
static void route(struct gi_graph *graph, uint32_t layer, enum gi_norm before)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *router = layer_weight(graph, layer, GI_SLOT_ROUTER);
    const struct gi_stream *stream = &graph->stream;
    if (graph->is_batch) { // f32: expert selection is sensitive to rounding
        gi_op_gemm(recorder, "router", router, before == GI_NORM_NONE ? &graph->x : &graph->norm,
                   false, 1.0f, &graph->qkv);
    } else if (before == GI_NORM_NONE) {
        gi_op_gemv(recorder, "router", router, stream->range, stream->residual, false,
                   graph->row.range);
    } else {
        gi_op_gemv_norm(recorder, "router", router, stream, graph->row.range);
    }
    choose(graph, layer);
}

static void experts_step(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_rows act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    gi_op_gemv_expert_glu(recorder, &graph->experts, hparams->activation,
                          layer_weight(graph, layer, GI_SLOT_GATE_UP), &graph->stream, NULL, &act);
    gi_op_gemv_expert(recorder, &graph->experts, GI_EXPERTS_STEP,
                      layer_weight(graph, layer, GI_SLOT_DOWN), &act, &graph->row);
    gi_op_add_experts(recorder, &graph->experts, &act, &graph->row, &graph->vectors,
                      norm_offset(graph, layer, GI_NORM_NEXT), hparams->residual_scale,
                      &graph->stream);
}

// Records the chosen experts of input, token by token, and their sum in x, to which it is added or
// not.
static void experts_by_token(struct gi_graph *graph, uint32_t layer, const struct gi_rows *input,
                             const struct gi_rows *x, bool is_added)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_rows step_act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    const struct gi_rows *act = graph->is_batch ? &graph->ffn_act_rows : &step_act;
    const struct gi_rows *y = graph->is_batch ? &graph->ffn_gate_up : &graph->row;
    gi_op_gemv_expert_glu(recorder, &graph->experts, hparams->activation,
                          layer_weight(graph, layer, GI_SLOT_GATE_UP), NULL, input, act);
    gi_op_gemv_expert(recorder, &graph->experts, GI_EXPERTS_BATCH,
                      layer_weight(graph, layer, GI_SLOT_DOWN), act, y);
    gi_op_add_experts_batch(recorder, &graph->experts, act, y, hparams->n_embd,
                            hparams->residual_scale, is_added, x);
}

// Each expert's weights are read once for all tokens that take it.
static void experts_sorted(struct gi_graph *graph, const struct gi_sorted_rows *rows,
                           uint32_t layer, const struct gi_rows *input, const struct gi_rows *x,
                           bool is_added)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_experts *experts = &graph->experts;
    const struct gi_weight *gate_up = layer_weight(graph, layer, GI_SLOT_GATE_UP);
    const struct gi_range range = graph->ffn_gate_up.range;
    const struct gi_rows pairs = {
        range, (uint32_t)gi_round_up(gate_up->n_rows / experts->n_expert, GI_QUANT_BLOCK), false};
    const struct gi_rows y = {range, experts->y_width, false};
    gi_op_gather_rows(recorder, experts, input, rows);
    gi_op_gemm_experts(recorder, "ffn_gate_up", experts, gate_up, rows, false, &pairs);
    gi_op_glu_experts(recorder, experts, hparams->activation, gate_up, &pairs, rows);
    gi_op_gemm_experts(recorder, "ffn_down", experts, layer_weight(graph, layer, GI_SLOT_DOWN),
                       rows, true, &y);
    gi_op_add_sorted_experts(recorder, experts, rows, &y, hparams->n_embd, hparams->residual_scale,
                             is_added, x);
}

// Records the chosen experts of input, and their sum in x.
static void sum_experts(struct gi_graph *graph, uint32_t layer, const struct gi_rows *input,
                        const struct gi_rows *x, bool is_added)
{
    struct gi_sorted_rows rows;
    if (graph->is_batch && sorts_rows(graph, &rows)) {
        experts_sorted(graph, &rows, layer, input, x, is_added);
    } else {
        experts_by_token(graph, layer, input, x, is_added);
    }
}

// Records the chosen experts; a batch's read input, a step's the norm of the stream.
static void run_experts(struct gi_graph *graph, uint32_t layer, const struct gi_rows *input)
{
    if (graph->is_batch) {
        sum_experts(graph, layer, input, &graph->x, true);
    } else {
        experts_step(graph, layer);
    }
}

static void expert_norm(struct gi_graph *graph, uint32_t layer)
{
    if (graph->is_batch) {
        gi_graph_norm_rows(graph, &graph->recorder, "ffn_norm", layer, GI_NORM_FFN, &graph->norm);
    }
}

void gi_graph_experts_block(struct gi_graph *graph, uint32_t layer)
{
    expert_norm(graph, layer);
    route(graph, layer, GI_NORM_FFN);
    run_experts(graph, layer, &graph->norm);
}

void gi_graph_unnormed_experts(struct gi_graph *graph, uint32_t layer)
{
    assert(graph->is_batch);
    route(graph, layer, GI_NORM_NONE);
    run_experts(graph, layer, &graph->x);
}

void gi_graph_choose_experts(struct gi_graph *graph, uint32_t layer)
{
    route(graph, layer, GI_NORM_NONE);
}

void gi_graph_chosen_experts_block(struct gi_graph *graph, uint32_t layer)
{
    expert_norm(graph, layer);
    run_experts(graph, layer, &graph->norm);
}

//-- next to a network -----------------------------------------------------------------------------

// Returns one of the two rows that a step has for this.
static struct gi_rows step_row(const struct gi_graph *graph, uint32_t i)
{
    const uint32_t stride = graph->streams.stride / 2;
    struct gi_range range = graph->streams.range;
    range.offset += (uint64_t)i * stride * sizeof(float);
    range.size = stride * sizeof(float);
    return (struct gi_rows){range, stride, false};
}

// Records y = norm(x), or y += norm(x).
static void norm_to(struct gi_graph *graph, const char *label, uint32_t layer, enum gi_norm norm,
                    const struct gi_rows *x, bool is_added, const struct gi_rows *y)
{
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t gamma = norm_offset(graph, layer, norm);
    if (is_added) {
        gi_op_rmsnorm_add(&graph->recorder, label, x, hparams->n_embd, &graph->vectors, gamma,
                          UINT32_MAX, hparams->norm_eps, y);
    } else {
        gi_op_rmsnorm(&graph->recorder, label, x, hparams->n_embd, &graph->vectors, gamma,
                      hparams->norm_eps, y);
    }
}

// Records the norm of the sum of both blocks, which x takes.
static void add_sum(struct gi_graph *graph, uint32_t layer, bool is_scaled,
                    const struct gi_rows *sum)
{
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t gamma = norm_offset(graph, layer, GI_NORM_FFN_POST);
    const uint32_t scale = is_scaled ? norm_offset(graph, layer, GI_NORM_OUT_SCALE) : UINT32_MAX;
    if (graph->is_batch) {
        gi_op_rmsnorm_add(&graph->recorder, "post_norm", sum, hparams->n_embd, &graph->vectors,
                          gamma, scale, hparams->norm_eps, &graph->x);
    } else {
        gi_op_post_norm(&graph->recorder, "post_norm", sum->range, &graph->vectors, gamma,
                        norm_offset(graph, layer, GI_NORM_NEXT), scale, &graph->stream);
    }
}

void gi_graph_network_and_experts(struct gi_graph *graph, uint32_t layer, bool is_scaled)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *router = layer_weight(graph, layer, GI_SLOT_ROUTER);
    const struct gi_weight *down = layer_weight(graph, layer, GI_SLOT_BESIDE_DOWN);
    const bool is_batch = graph->is_batch;
    const struct gi_rows x = is_batch ? graph->x : gi_stream_residual(&graph->stream);
    const struct gi_rows result = is_batch ? graph->norm : graph->row;
    const struct gi_rows aside = is_batch ? graph->norm : step_row(graph, 0);
    const struct gi_rows sum = is_batch ? graph->stream_rows : step_row(graph, 1);
    gi_graph_network_up(graph, layer, GI_NORM_FFN,
                        layer_weight(graph, layer, GI_SLOT_BESIDE_GATE_UP), down);
    gi_graph_project_aside(graph, "ffn_down", down, gi_graph_ffn_x(graph), &graph->ffn_input);
    norm_to(graph, "ffn_post_norm", layer, GI_NORM_BESIDE_POST, &result, false, &sum);
    norm_to(graph, "router_norm", layer, GI_NORM_ROUTER, &x, false, &aside);
    if (is_batch) {
        gi_op_gemm(recorder, "router", router, &aside, false, 1.0f, &graph->qkv);
    } else {
        gi_op_gemv(recorder, "router", router, aside.range, 0, false, graph->row.range);
    }
    choose(graph, layer);
    norm_to(graph, "experts_norm", layer, GI_NORM_EXPERTS, &x, false, &aside);
    sum_experts(graph, layer, &aside, &aside, false);
    norm_to(graph, "experts_post_norm", layer, GI_NORM_EXPERTS_POST, &aside, true, &sum);
    add_sum(graph, layer, is_scaled, &sum);
}
