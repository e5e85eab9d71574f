// Functions that the files of this folder share to record blocks.
#pragma once

#include "graph/graph.h"

#include <assert.h>

static inline const struct gi_weight *layer_weight(const struct gi_graph *graph, uint32_t layer,
                                                   enum gi_slot slot)
{
    return &graph->weights.layers[layer * GI_SLOT_COUNT + (uint32_t)slot];
}

// Returns the offset of a norm's weights in the vectors; UINT32_MAX if the model lacks it.
static inline uint32_t norm_offset(const struct gi_graph *graph, uint32_t layer, enum gi_norm norm)
{
    return gi_norm_offset(&graph->norm_layout, layer, norm);
}

// Returns the norms of q and k of a layer; norms with a gamma for each head are layernorms.
static inline struct gi_head_norm head_norm(const struct gi_graph *graph, uint32_t layer)
{
    const struct gi_hparams *hparams = graph->hparams;
    const enum gi_dim *dims = graph->norm_layout.dims;
    const bool is_layernorm = dims[GI_NORM_Q] == GI_DIM_Q_ROWS;
    return (struct gi_head_norm){
        .q_gamma = norm_offset(graph, layer, GI_NORM_Q),
        .k_gamma = norm_offset(graph, layer, GI_NORM_K),
        .q_width = gi_dim_size(hparams, layer, is_layernorm ? GI_DIM_HEAD : dims[GI_NORM_Q]),
        .k_width = gi_dim_size(hparams, layer, is_layernorm ? GI_DIM_HEAD : dims[GI_NORM_K]),
        .is_layernorm = is_layernorm,
        .has_v = hparams->has_value_norm,
        .eps = hparams->norm_eps,
    };
}

// Returns the residual of a step as a row; it is not parted.
static inline struct gi_rows gi_stream_residual(const struct gi_stream *stream)
{
    struct gi_range range = stream->range;
    assert(!stream->is_parted);
    range.offset += stream->residual * sizeof(float);
    range.size = stream->n_embd * sizeof(float);
    return (struct gi_rows){range, stream->n_embd, false};
}

// The input x of a projection of a decode step, at `offset` floats of the range; with has_sums it
// has gi_x_size floats.
struct gi_step_x {
    struct gi_range range;
    uint32_t offset;
    bool has_sums;
};

// Return the result of attention, the result of a network's first matrix, and a layer's own input
// after gi_graph_gate_input.
struct gi_step_x gi_graph_attn_x(const struct gi_graph *graph, uint32_t layer);
static inline struct gi_step_x gi_graph_ffn_x(const struct gi_graph *graph)
{
    return (struct gi_step_x){graph->ffn_act, 0, graph->ffn_act_has_sums};
}
static inline struct gi_step_x gi_graph_input_x(const struct gi_graph *graph, uint32_t layer)
{
    return (struct gi_step_x){graph->input.range, layer * graph->hparams->inputs.width, false};
}

// Record the product of matrix A of a weight's adapters, before the weight's own product: of the
// stream's residual, or of its norm; of x. Do nothing for a weight without adapters.
void gi_graph_adapt_stream(struct gi_graph *graph, const struct gi_weight *weight, bool has_norm);
void gi_graph_adapt_x(struct gi_graph *graph, const struct gi_weight *weight, struct gi_step_x x);
// Records the product y = W x of a batch, or y += scale * W x, with adapters.
void gi_graph_product(struct gi_graph *graph, const char *label, const struct gi_weight *weight,
                      const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y);

// Records a projection of norm(x) into graph->row or, in a batch, graph->qkv.
void gi_graph_project_norm(struct gi_graph *graph, const char *label, uint32_t layer,
                           enum gi_slot slot, enum gi_norm before);
// Records residual += scale * W x. The input is x in a decode step, rows in a batch.
void gi_graph_project_back(struct gi_graph *graph, const char *label,
                           const struct gi_weight *weight, struct gi_step_x x,
                           const struct gi_rows *rows);
// Sets *input to the rows that the projection `out` of a batch reads in place of rows
// (n_tokens, width) in f32: a copy in f16 in `spare`, which it records, or rows, perhaps packed.
void gi_graph_pass_on(struct gi_graph *graph, const char *label, const struct gi_rows *rows,
                      uint32_t width, const struct gi_weight *out, const struct gi_rows *spare,
                      struct gi_rows *input);

// Records a network's first matrix and activation, whose result `down` reads.
void gi_graph_network_up(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                         const struct gi_weight *gate_up, const struct gi_weight *down);
// Records the input of a batch's projection: its norm or, with GI_NORM_NONE, the residual.
void gi_graph_input_rows(struct gi_graph *graph, const char *label, uint32_t layer,
                         enum gi_norm norm, const struct gi_weight *weight, struct gi_rows *rows);
// Records y = W norm(x) for a batch's residual x. norm may be GI_NORM_NONE.
void gi_graph_norm_product(struct gi_graph *graph, const char *norm_label, const char *label,
                           uint32_t layer, enum gi_norm norm, const struct gi_weight *weight,
                           const struct gi_rows *y);
// Records W x into graph->row or, in a batch, graph->norm.
void gi_graph_project_aside(struct gi_graph *graph, const char *label,
                            const struct gi_weight *weight, struct gi_step_x x,
                            const struct gi_rows *rows);
// Records activation(gate(x)) * input with a layer's own input: in place or, in a batch, into
// attn_input.
void gi_graph_gate_input(struct gi_graph *graph, uint32_t layer);

// Records residual = scale * (residual + norm(W x)); next is the norm that follows. scale is an
// offset in the vectors; UINT32_MAX: 1.
void gi_graph_project_back_normed(struct gi_graph *graph, const char *label, uint32_t layer,
                                  const struct gi_weight *weight, struct gi_step_x x,
                                  const struct gi_rows *rows, enum gi_norm norm, enum gi_norm next,
                                  uint32_t scale);
