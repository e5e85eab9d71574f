// Inputs that layers have beside the residual.
#include "graph/graph_private.h"

void gi_graph_project_inputs(struct gi_graph *graph)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_weight *proj = graph->weights.input_proj;
    const struct gi_rows *projected = graph->is_batch ? &graph->ffn_gate_up : &graph->row;
    const struct gi_input_norm norm = {
        .width = hparams->inputs.width,
        .n = hparams->n_layer,
        .gamma = norm_offset(graph, 0, GI_NORM_INPUT),
        .eps = hparams->norm_eps * (float)hparams->n_embd, // of W x without its scale
    };
    struct gi_rows rows;
    if (graph->is_batch) {
        gi_graph_input_rows(graph, "input_proj", 0, GI_NORM_NONE, proj, &rows);
        gi_op_gemm(recorder, "input_proj", proj, &rows, false, 1.0f, projected);
    } else {
        gi_op_gemv(recorder, "input_proj", proj, graph->stream.range, graph->stream.residual, false,
                   projected->range);
    }
    gi_op_add_inputs(recorder, "inputs", &norm, projected, &graph->vectors,
                     graph->is_batch ? &graph->inputs : &graph->input);
}

void gi_graph_gate_input(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const uint32_t width = graph->hparams->inputs.width;
    const struct gi_weight *gate = layer_weight(graph, layer, GI_SLOT_INPUT_GATE);
    const struct gi_weight *out = layer_weight(graph, layer, GI_SLOT_INPUT_OUT);
    struct gi_rows rows;
    if (graph->is_batch) {
        gi_graph_input_rows(graph, "input_gate", layer, GI_NORM_NONE, gate, &rows);
        gi_op_gemm(recorder, "input_gate", gate, &rows, false, 1.0f, &graph->ffn_gate_up);
        gi_op_gate_input(recorder, "input_act", &graph->ffn_gate_up, &graph->inputs, layer * width,
                         width, graph->hparams->activation, &graph->attn);
        gi_graph_pass_on(graph, "attn_half", &graph->attn, width, out, &graph->q,
                         &graph->attn_input);
    } else {
        gi_op_gemv_gate_input(recorder, "input_gate", gate, layer * width, width,
                              graph->hparams->activation, &graph->stream, graph->input.range);
    }
}

void gi_graph_layer_input(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_gate_input(graph, layer);
    gi_graph_project_back_normed(
        graph, "input_out", layer, layer_weight(graph, layer, GI_SLOT_INPUT_OUT),
        gi_graph_input_x(graph, layer), &graph->attn_input, GI_NORM_INPUT_POST, GI_NORM_NEXT,
        norm_offset(graph, layer, GI_NORM_OUT_SCALE));
}

void gi_graph_project_aside(struct gi_graph *graph, const char *label,
                            const struct gi_weight *weight, struct gi_step_x x,
                            const struct gi_rows *rows)
{
    struct gi_recorder *recorder = &graph->recorder;
    if (graph->is_batch) {
        gi_graph_product(graph, label, weight, rows, false, 1.0f, &graph->norm);
    } else {
        gi_graph_adapt_x(graph, weight, x);
        gi_op_gemv(recorder, label, weight, x.range, x.offset, x.has_sums, graph->row.range);
    }
}

void gi_graph_project_back_normed(struct gi_graph *graph, const char *label, uint32_t layer,
                                  const struct gi_weight *weight, struct gi_step_x x,
                                  const struct gi_rows *rows, enum gi_norm norm, enum gi_norm next,
                                  uint32_t scale)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t gamma = norm_offset(graph, layer, norm);
    if (!graph->is_batch && gi_gemv_post_suits(recorder, weight)) {
        gi_graph_adapt_x(graph, weight, x);
        gi_op_gemv_post(recorder, label, weight, x.range, x.offset, scale != UINT32_MAX,
                        &graph->stream);
        return;
    }
    gi_graph_project_aside(graph, label, weight, x, rows);
    if (graph->is_batch) {
        gi_op_rmsnorm_add(recorder, "post_norm", &graph->norm, hparams->n_embd, &graph->vectors,
                          gamma, scale, hparams->norm_eps, &graph->x);
        return;
    }
    gi_op_post_norm(recorder, "post_norm", graph->row.range, &graph->vectors, gamma,
                    norm_offset(graph, layer, next), scale, &graph->stream);
}
