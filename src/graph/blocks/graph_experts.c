// Mixtures of experts.
#include "base/round.h"
#include "graph/graph_private.h"

#include <assert.h>

// Returns true if a batch sorts its tokens by expert: the rows are then laid out.
static bool sorts_rows(const struct gi_graph *graph, struct gi_sorted_rows *rows)
{
    const struct gi_rows *act = &graph->ffn_act_rows;
    const uint64_t n_tokens = act->range.size / (act->stride * sizeof(float));
    return !graph->joint && gi_sorted_rows_init(rows, &graph->recorder, &graph->experts, act->range,
                                                (uint32_t)n_tokens);
}

// Records the choice of experts by the norm of x or, with GI_NORM_NONE, by x; of a batch, whose
// norm is there.
static void route(struct gi_graph *graph, uint32_t layer, enum gi_norm before)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_experts *experts = &graph->experts;
    const struct gi_weight *router = layer_weight(graph, layer, GI_SLOT_ROUTER);
    const uint32_t bias = norm_offset(graph, layer, GI_NORM_ROUTER_BIAS);
    const struct gi_stream *stream = &graph->stream;
    const struct gi_rows act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    struct gi_sorted_rows rows;
    if (!graph->is_batch) {
        if (before == GI_NORM_NONE) {
            gi_op_gemv(recorder, "router", router, stream->range, stream->residual, false,
                       graph->row.range);
        } else {
            gi_op_gemv_norm(recorder, "router", router, stream, graph->row.range);
        }
        gi_op_route(recorder, experts, GI_EXPERTS_STEP, &graph->row, &graph->vectors, bias, &act);
        return;
    }
    // f32: expert selection is sensitive to rounding.
    const struct gi_rows *input = before == GI_NORM_NONE ? &graph->x : &graph->norm;
    gi_op_gemm(recorder, "router", router, input, false, 1.0f, &graph->qkv);
    if (sorts_rows(graph, &rows)) {
        gi_op_route_sorted(recorder, experts, &graph->qkv, &graph->vectors, bias, &rows);
    } else {
        gi_op_route(recorder, experts, GI_EXPERTS_BATCH, &graph->qkv, &graph->vectors, bias,
                    &graph->ffn_act_rows);
    }
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

static void experts_batch(struct gi_graph *graph, uint32_t layer, const struct gi_rows *input)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    gi_op_gemv_expert_glu(recorder, &graph->experts, hparams->activation,
                          layer_weight(graph, layer, GI_SLOT_GATE_UP), NULL, input,
                          &graph->ffn_act_rows);
    gi_op_gemv_expert(recorder, &graph->experts, GI_EXPERTS_BATCH,
                      layer_weight(graph, layer, GI_SLOT_DOWN), &graph->ffn_act_rows,
                      &graph->ffn_gate_up);
    gi_op_add_experts_batch(recorder, &graph->experts, &graph->ffn_act_rows, &graph->ffn_gate_up,
                            hparams->n_embd, hparams->residual_scale, &graph->x);
}

// Each expert's weights are read once for all tokens that take it.
static void experts_sorted(struct gi_graph *graph, const struct gi_sorted_rows *rows,
                           uint32_t layer, const struct gi_rows *input)
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
                             &graph->x);
}

// Records the chosen experts; a batch's read input, a step's the norm of the stream.
static void run_experts(struct gi_graph *graph, uint32_t layer, const struct gi_rows *input)
{
    struct gi_sorted_rows rows;
    if (!graph->is_batch) {
        experts_step(graph, layer);
        return;
    }
    if (sorts_rows(graph, &rows)) {
        experts_sorted(graph, &rows, layer, input);
    } else {
        experts_batch(graph, layer, input);
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
