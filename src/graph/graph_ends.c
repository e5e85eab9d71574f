#include "graph/graph_ends.h"

#include "base/round.h"
#include "graph/graph_private.h"
#include "graph/joint_rows.h"

#include <assert.h>

void gi_graph_layernorm(struct gi_graph *graph, const char *label, uint32_t layer,
                        enum gi_norm norm, enum gi_norm shift)
{
    const struct gi_rows x = graph->x;
    gi_op_layernorm(&graph->recorder, label, &x, graph->hparams->n_embd, &graph->vectors,
                    gi_norm_offset(&graph->norm_layout, layer, norm),
                    gi_norm_offset(&graph->norm_layout, layer, shift), graph->hparams->norm_eps,
                    &graph->norm);
    graph->x = graph->norm;
    graph->norm = x;
}

// Records the layernorm of an encoder's embeddings.
static void norm_embeddings(struct gi_graph *graph, const struct gi_rows *x)
{
    const struct gi_hparams *hparams = graph->hparams;
    const bool is_first = hparams->embed_norm == GI_EMBED_NORM_FIRST;
    const uint32_t layer = is_first ? 0 : hparams->n_layer - 1;
    const enum gi_norm norm = is_first ? GI_NORM_ATTN : GI_NORM_NEXT;
    gi_op_layernorm(&graph->recorder, "embed_norm", x, hparams->n_embd, &graph->vectors,
                    gi_norm_offset(&graph->norm_layout, layer, norm),
                    gi_norm_shift(&graph->norm_layout, layer, norm), hparams->norm_eps, &graph->x);
}

// Returns rows of a width in the memory of other rows.
static struct gi_rows rows_in(const struct gi_rows *memory, uint32_t width)
{
    return (struct gi_rows){memory->range, (uint32_t)gi_round_up(width, GI_QUANT_BLOCK), false};
}

// Records a convolution: each row of x, of n_cols columns, overlaps the next ones. Products and
// their input lie in memory of the network.
static void record_convolution(struct gi_graph *graph, const char *label,
                               const struct gi_weight *weight, const struct gi_rows *x,
                               const struct gi_rows *y)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_activation_rule rule = {.activation = graph->hparams->activation};
    const struct gi_rows spare = rows_in(&graph->ffn_act_rows, weight->n_cols);
    const struct gi_rows products = rows_in(&graph->ffn_gate_up, weight->n_rows);
    struct gi_rows input = gi_half_rows(recorder, &spare);
    if (input.is_half) {
        gi_op_half_rows(recorder, label, x, weight->n_cols, &input);
    } else {
        input = *x;
    }
    gi_op_gemm(recorder, label, weight, &input, false, 1.0f, &products);
    gi_op_glu(recorder, label, weight, &products, graph->hparams->n_embd, &rule, y);
}

void gi_graph_hear(struct gi_graph *graph)
{
    struct gi_rows heard = rows_in(&graph->qkv, graph->hparams->n_embd);
    const uint64_t row = heard.stride * sizeof(float); // x[-1]
    heard.range.offset += row;
    heard.range.size -= row;
    record_convolution(graph, "conv1", graph->weights.conv1, &graph->sound, &heard);
}

// Records what an encoder of sound has in place of embeddings.
static void embed_sound(struct gi_graph *graph)
{
    const struct gi_rows heard = rows_in(&graph->qkv, 2 * graph->hparams->n_embd);
    record_convolution(graph, "conv2", graph->weights.conv2, &heard, &graph->x);
}

static void add_positions(struct gi_graph *graph, const struct gi_rows *x)
{
    if (graph->hparams->has_positions) {
        gi_op_add_positions(&graph->recorder, &graph->vectors, graph->positions,
                            graph->hparams->n_embd, x, graph->is_batch);
    }
}

// Records the embeddings of an encoder's batch: tokens or sound, positions, their norm.
static void embed_encoder(struct gi_graph *graph)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const bool has_norm = hparams->embed_norm != GI_EMBED_NORM_NONE;
    const struct gi_rows *x = has_norm ? &graph->norm : &graph->x;
    if (hparams->n_sound > 0) {
        embed_sound(graph);
    } else {
        gi_op_embed_batch(recorder, graph->weights.embed, graph->tokens, hparams->embed_scale, x);
    }
    add_positions(graph, x);
    if (has_norm) {
        norm_embeddings(graph, x);
    }
}

static void embed_batch(struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    gi_op_embed_batch(&graph->recorder, graph->weights.embed, graph->tokens, hparams->embed_scale,
                      &graph->x);
    add_positions(graph, &graph->x);
    if (hparams->inputs.width != 0) {
        gi_op_embed_batch(&graph->recorder, graph->weights.input_embed, graph->tokens,
                          hparams->inputs.scale, &graph->inputs);
    }
}

// Records the embeddings of a decode step's token.
static void embed_step(struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    // If no norm precedes the first projection, nothing reads this one; the output's serves.
    uint32_t gamma = gi_norm_offset(&graph->norm_layout, 0, GI_NORM_ATTN);
    if (gamma == UINT32_MAX) {
        gamma = gi_norm_offset(&graph->norm_layout, hparams->n_layer - 1, GI_NORM_NEXT);
    }
    gi_op_embed_token(&graph->recorder, graph->weights.embed, &graph->vectors, gamma,
                      hparams->embed_scale, &graph->stream);
    const struct gi_rows residual = {graph->stream.range, graph->stream.n_embd, false};
    assert(!hparams->has_positions || graph->stream.residual == 0);
    add_positions(graph, &residual); // the layernorm that follows reads nothing else
    if (hparams->inputs.width != 0) {
        gi_op_embed_row(&graph->recorder, graph->weights.input_embed, hparams->inputs.scale,
                        &graph->input);
    }
}

void gi_graph_embed(struct gi_graph *graph)
{
    if (graph->hparams->is_encoder) {
        embed_encoder(graph);
        return;
    }
    if (graph->joint) {
        gi_joint_embed(graph);
    } else if (graph->is_batch) {
        embed_batch(graph);
    } else {
        embed_step(graph);
    }
    if (graph->hparams->inputs.width > 0) {
        gi_graph_project_inputs(graph);
    }
}

void gi_graph_loop_norm(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const uint32_t n_embd = graph->hparams->n_embd;
    const float eps = graph->hparams->norm_eps;
    const uint32_t gamma = gi_norm_offset(&graph->norm_layout, layer - 1, GI_NORM_NEXT);
    if (graph->is_batch) {
        gi_op_rmsnorm(recorder, "loop_norm", &graph->x, n_embd, &graph->vectors, gamma, eps,
                      &graph->x);
        return;
    }
    const struct gi_rows x = gi_stream_residual(&graph->stream);
    gi_op_rmsnorm(recorder, "loop_norm", &x, n_embd, &graph->vectors, gamma, eps, &graph->row);
    gi_op_last_row(recorder, &graph->row, &graph->vectors,
                   gi_norm_offset(&graph->norm_layout, layer, GI_NORM_ATTN), &graph->stream);
}

void gi_graph_output(struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t last = hparams->n_layer - 1;
    const uint32_t gamma = gi_norm_offset(&graph->norm_layout, last, GI_NORM_NEXT);
    const uint32_t beta = gi_norm_shift(&graph->norm_layout, last, GI_NORM_NEXT);
    if (graph->joint) {
        gi_joint_output(graph);
        return;
    }
    if (graph->is_batch) {
        gi_op_last_row(&graph->recorder, &graph->x, &graph->vectors, gamma, &graph->stream);
    }
    if (beta != UINT32_MAX) {
        gi_op_layernorm_step(&graph->recorder, "output_norm", &graph->vectors, gamma, beta,
                             &graph->stream);
    }
    gi_op_gemv_vocab(&graph->recorder, "output", graph->weights.output, &graph->stream,
                     hparams->logit_scale, hparams->logit_softcap, &graph->logits);
}
