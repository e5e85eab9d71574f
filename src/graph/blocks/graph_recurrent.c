#include "base/round.h"
#include "graph/graph_private.h"

// Returns the range of results of kernels with a state in a decode step.
static struct gi_step_x state_x(const struct gi_graph *graph)
{
    return (struct gi_step_x){graph->ffn_act, 0, false};
}

//-- linear attention ----------------------------------------------------------------------------

static struct gi_delta delta_of(const struct gi_graph *graph, uint32_t layer)
{
    const struct gi_recurrent_hparams *hparams = &graph->hparams->recurrent;
    const uint32_t two_tiles = 2 * GI_TILE_ROWS;
    struct gi_delta delta = {
        .params = {.n_head = hparams->n_head,
                   .n_k_head = hparams->n_k_head,
                   .taps = norm_offset(graph, layer, GI_NORM_CONV),
                   .gamma = norm_offset(graph, layer, GI_NORM_STATE),
                   .decay_bias = norm_offset(graph, layer, GI_NORM_DECAY_BIAS),
                   .decay_rate = norm_offset(graph, layer, GI_NORM_DECAY_RATE),
                   .eps = graph->hparams->norm_eps},
        .dim = hparams->dim,
        .n_neighbour = hparams->n_neighbour,
        .n_taps = hparams->n_taps,
        .n_column = hparams->n_column,
    };
    struct gi_delta_params *params = &delta.params;
    const uint64_t width = (uint64_t)hparams->n_head * hparams->dim;
    params->z = (uint32_t)gi_round_up(gi_delta_channels(&delta), two_tiles);
    params->rate = params->z + (uint32_t)gi_round_up(width, two_tiles);
    params->decay = params->rate + (uint32_t)gi_round_up(hparams->n_head, two_tiles);
    return delta;
}

void gi_graph_delta_block(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_delta delta = delta_of(graph, layer);
    const struct gi_range memory = graph->states[layer];
    const struct gi_weight *out = layer_weight(graph, layer, GI_SLOT_OUT);
    gi_graph_project_norm(graph, "attn_qkv", layer, GI_SLOT_QKV, GI_NORM_ATTN);
    if (graph->is_batch) {
        gi_op_delta_batch(recorder, &delta, &graph->qkv, &graph->vectors, memory,
                          &graph->ffn_gate_up, &graph->q, &graph->attn);
        gi_graph_pass_on(graph, "attn_half", &graph->attn, delta.params.n_head * delta.dim, out,
                         &graph->q, &graph->attn_input);
    } else {
        gi_op_delta_step(recorder, &delta, graph->row.range, &graph->vectors, memory,
                         graph->ffn_act);
    }
    gi_graph_project_back(graph, "attn_out", out, state_x(graph), &graph->attn_input);
}

//-- a short convolution -------------------------------------------------------------------------

void gi_graph_short_conv_block(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const uint32_t n_channel = graph->hparams->recurrent.n_channel;
    const struct gi_short_conv conv = {
        .n_channel = n_channel,
        .n_taps = graph->hparams->recurrent.n_taps,
        .n_after = graph->hparams->recurrent.n_after,
        .section = (uint32_t)gi_round_up(n_channel, (uint64_t)2 * GI_TILE_ROWS),
        .taps = norm_offset(graph, layer, GI_NORM_CONV),
    };
    const struct gi_rows act = {graph->ffn_act, graph->attn.stride, false};
    const struct gi_weight *out = layer_weight(graph, layer, GI_SLOT_OUT);
    gi_graph_project_norm(graph, "attn_qkv", layer, GI_SLOT_QKV, GI_NORM_ATTN);
    gi_op_short_conv(recorder, &conv, graph->is_batch, graph->is_batch ? &graph->qkv : &graph->row,
                     &graph->vectors, graph->states[layer], graph->is_batch ? &graph->attn : &act);
    if (graph->is_batch) {
        gi_graph_pass_on(graph, "attn_half", &graph->attn, n_channel, out, &graph->q,
                         &graph->attn_input);
    }
    gi_graph_project_back(graph, "attn_out", out, state_x(graph), &graph->attn_input);
}

//-- a state space model -------------------------------------------------------------------------

static struct gi_ssm ssm_of(const struct gi_graph *graph, uint32_t layer)
{
    const struct gi_recurrent_hparams *hparams = &graph->hparams->recurrent;
    const uint64_t two_tiles = 2 * (uint64_t)GI_TILE_ROWS;
    struct gi_ssm ssm = {
        .params = {.n_head = hparams->n_head,
                   .n_group = hparams->n_k_head,
                   .taps = norm_offset(graph, layer, GI_NORM_CONV),
                   .taps_bias = norm_offset(graph, layer, GI_NORM_CONV_SHIFT),
                   .dt_bias = norm_offset(graph, layer, GI_NORM_DECAY_BIAS),
                   .decay_rate = norm_offset(graph, layer, GI_NORM_DECAY_RATE),
                   .skip = norm_offset(graph, layer, GI_NORM_SKIP)},
        .dim = hparams->dim,
        .state_dim = hparams->state_dim,
        .n_taps = hparams->n_taps,
        .n_column = hparams->n_column,
    };
    struct gi_ssm_params *params = &ssm.params;
    params->channels = (uint32_t)gi_round_up((uint64_t)params->n_head * ssm.dim, two_tiles);
    params->dt = params->channels + (uint32_t)gi_round_up(gi_ssm_channels(&ssm), two_tiles);
    return ssm;
}

// Records y in rows.
static void ssm_rows(struct gi_graph *graph, uint32_t layer, const struct gi_ssm *ssm,
                     const struct gi_rows *rows)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_range memory = graph->states[layer];
    const uint32_t gamma = norm_offset(graph, layer, GI_NORM_STATE);
    if (graph->is_batch) {
        gi_op_ssm_batch(recorder, ssm, &graph->qkv, &graph->vectors, memory, &graph->ffn_gate_up,
                        rows);
    } else {
        gi_op_ssm_step(recorder, ssm, graph->row.range, &graph->vectors, memory, rows->range);
    }
    if (gamma != UINT32_MAX) {
        gi_op_ssm_norm(recorder, graph->is_batch, ssm->params.n_group,
                       ssm->params.n_head / ssm->params.n_group * ssm->dim, &graph->vectors, gamma,
                       graph->hparams->norm_eps, rows);
    }
}

void gi_graph_ssm(struct gi_graph *graph, uint32_t layer)
{
    const struct gi_ssm ssm = ssm_of(graph, layer);
    const struct gi_rows act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    gi_graph_project_norm(graph, "ssm_in", layer, GI_SLOT_SSM_IN, GI_NORM_ATTN);
    ssm_rows(graph, layer, &ssm, graph->is_batch ? &graph->ffn_act_rows : &act);
    if (graph->is_batch) {
        gi_graph_pass_on(graph, "ssm_half", &graph->ffn_act_rows, ssm.params.n_head * ssm.dim,
                         layer_weight(graph, layer, GI_SLOT_SSM_OUT), &graph->ffn_gate_up,
                         &graph->ssm_input);
    }
}

void gi_graph_ssm_out(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_project_back(graph, "ssm_out", layer_weight(graph, layer, GI_SLOT_SSM_OUT),
                          state_x(graph), &graph->ssm_input);
}
