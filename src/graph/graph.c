#include "graph/graph.h"

#include "base/round.h"
#include "graph/graph_private.h"
#include "graph/joint_rows.h"

#include <assert.h>

static struct gi_qkv_layout qkv_layout(const struct gi_graph *graph, uint32_t layer)
{
    return gi_layer_qkv_layout(graph->hparams, layer, graph->qkv_layout.gate_begin > 0);
}

//-- projections ---------------------------------------------------------------------------------

void gi_graph_norm_rows(struct gi_graph *graph, struct gi_recorder *recorder, const char *label,
                        uint32_t layer, enum gi_norm norm, const struct gi_rows *y)
{
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t gamma = norm_offset(graph, layer, norm);
    const uint32_t beta = gi_norm_shift(&graph->norm_layout, layer, norm);
    if (beta == UINT32_MAX) {
        gi_op_rmsnorm(recorder, label, &graph->x, hparams->n_embd, &graph->vectors, gamma,
                      hparams->norm_eps, y);
        return;
    }
    gi_op_layernorm(recorder, label, &graph->x, hparams->n_embd, &graph->vectors, gamma, beta,
                    hparams->norm_eps, y);
}

// Records what the producer of a step's residual leaves of the norm: nothing of an rmsnorm, all of
// a layernorm.
static void norm_step(struct gi_graph *graph, const char *label, uint32_t layer, enum gi_norm norm)
{
    const uint32_t beta =
        norm == GI_NORM_NONE ? UINT32_MAX : gi_norm_shift(&graph->norm_layout, layer, norm);
    if (beta != UINT32_MAX) {
        gi_op_layernorm_step(&graph->recorder, label, &graph->vectors,
                             norm_offset(graph, layer, norm), beta, &graph->stream);
    }
}

void gi_graph_input_rows(struct gi_graph *graph, const char *label, uint32_t layer,
                         enum gi_norm norm, const struct gi_weight *weight, struct gi_rows *rows)
{
    struct gi_recorder *recorder = &graph->recorder;
    *rows = gi_half_rows(recorder, &graph->norm);
    if (norm != GI_NORM_NONE) {
        gi_graph_norm_rows(graph, recorder, label, layer, norm, rows);
        gi_op_pack_rows(recorder, "pack_rows", rows, graph->hparams->n_embd, weight);
        return;
    }
    if (rows->is_half) {
        gi_op_half_rows(recorder, label, &graph->x, graph->hparams->n_embd, rows);
        return;
    }
    *rows = graph->x;
}

void gi_graph_norm_product(struct gi_graph *graph, const char *norm_label, const char *label,
                           uint32_t layer, enum gi_norm norm, const struct gi_weight *weight,
                           const struct gi_rows *y)
{
    const bool has_norm = norm != GI_NORM_NONE;
    const bool is_layernorm =
        has_norm && gi_norm_shift(&graph->norm_layout, layer, norm) != UINT32_MAX;
    if (!is_layernorm && !weight->adapter &&
        gi_gemm_converts(&graph->recorder, weight, &graph->x, has_norm)) {
        assert(weight->n_cols == graph->hparams->n_embd); // the mean is over all columns
        const struct gi_row_norm rule = {&graph->vectors,
                                         has_norm ? norm_offset(graph, layer, norm) : 0,
                                         graph->hparams->norm_eps};
        gi_op_gemm_converted(&graph->recorder, label, weight, &graph->x, has_norm ? &rule : NULL,
                             false, 1.0f, y);
        return;
    }
    struct gi_rows input;
    gi_graph_input_rows(graph, norm_label, layer, norm, weight, &input);
    gi_graph_product(graph, label, weight, &input, false, 1.0f, y);
}

//-- attention -----------------------------------------------------------------------------------

// Records a batch's projection of the norm that the branch beside attention has left.
static void project_branch(struct gi_graph *graph, const char *label,
                           const struct gi_weight *weight)
{
    struct gi_rows input = graph->branch_input;
    graph->branch_input = (struct gi_rows){0};
    gi_op_pack_rows(&graph->recorder, "pack_rows", &input, graph->hparams->n_embd, weight);
    gi_graph_product(graph, label, weight, &input, false, 1.0f, &graph->qkv);
}

void gi_graph_project_norm(struct gi_graph *graph, const char *label, uint32_t layer,
                           enum gi_slot slot, enum gi_norm before)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *weight = layer_weight(graph, layer, slot);
    if (graph->is_batch && graph->branch_input.range.size > 0) {
        project_branch(graph, label, weight);
        return;
    }
    if (graph->is_batch) {
        gi_graph_norm_product(graph, "attn_norm", label, layer, before, weight, &graph->qkv);
        return;
    }
    if (before == GI_NORM_NONE) {
        gi_graph_adapt_stream(graph, weight, false);
        gi_op_gemv_stream(recorder, label, weight, &graph->stream, graph->row.range);
        return;
    }
    norm_step(graph, "attn_norm", layer, before);
    gi_graph_adapt_stream(graph, weight, true);
    gi_op_gemv_norm(recorder, label, weight, &graph->stream, graph->row.range);
}

static void qkv_rows(struct gi_graph *graph, uint32_t layer, enum gi_norm before)
{
    gi_graph_project_norm(graph, "attn_qkv", layer, GI_SLOT_QKV, before);
}

// Moves RoPE, norms of heads and the cache write into the entry of attention, if it can do them
// (gi_attention_qkv_suits). norm may be NULL.
static bool leave_to_attention(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                               const struct gi_head_norm *norm)
{
    graph->attention_input = (struct gi_attention_input){
        .layout = qkv_layout(graph, layer),
        .qkv = graph->row.range,
        .vectors = graph->vectors,
        .rope = *rope,
    };
    if (norm) {
        graph->attention_input.norm = *norm;
    }
    graph->has_attention_input =
        !graph->is_batch && rope->temperature == 0.0f &&
        gi_attention_qkv_suits(&graph->recorder, &graph->kv_cache[layer], &graph->attention_input);
    return graph->has_attention_input;
}

// Records one dispatch, or two if the cache's type asks for whole blocks.
void gi_graph_qkv(struct gi_graph *graph, uint32_t layer, uint32_t n_rot)
{
    const enum gi_norm before =
        norm_offset(graph, layer, GI_NORM_ATTN) == UINT32_MAX ? GI_NORM_NONE : GI_NORM_ATTN;
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_kv_layer *kv = &graph->kv_cache[layer];
    const struct gi_qkv_layout layout = qkv_layout(graph, layer);
    const struct gi_rows q = {kv->range, layout.n_head * layout.head_dim, false};
    const struct gi_rope rope = {.table = graph->vectors.rope,
                                 .n_rot = n_rot,
                                 .temperature = graph->hparams->temperature,
                                 .period = graph->hparams->temperature_period};
    if (leave_to_attention(graph, layer, &rope, NULL)) {
        qkv_rows(graph, layer, before);
        return;
    }
    const struct gi_weight *weight = layer_weight(graph, layer, GI_SLOT_QKV);
    if (!graph->is_batch && rope.temperature == 0.0f && gi_gemv_qkv_suits(recorder, weight, kv)) {
        norm_step(graph, "attn_norm", layer, GI_NORM_ATTN);
        gi_graph_adapt_stream(graph, weight, true);
        gi_op_gemv_qkv(recorder, "attn_qkv", weight, &layout, n_rot, &graph->stream, kv);
        return;
    }
    if (graph->joint) {
        qkv_rows(graph, layer, before);
        gi_joint_rope_kv(graph, layer, &rope, NULL);
        return;
    }
    qkv_rows(graph, layer, before);
    gi_op_rope_kv(recorder, "rope_kv", &layout, graph->is_batch ? &graph->qkv : &graph->row,
                  &graph->vectors, &rope, kv, graph->is_batch ? &graph->q : &q);
}

void gi_graph_qkv_rows(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope)
{
    assert(graph->is_batch && !graph->joint);
    qkv_rows(graph, layer, before);
    gi_op_rope_kv(&graph->recorder, "rope_kv", &graph->qkv_layout, &graph->qkv, &graph->vectors,
                  rope, &graph->kv_cache[layer], &graph->q);
}

// Records the rotations of q and k and their norms, which may be NULL.
static void turn_rows(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                      const struct gi_head_norm *norm)
{
    const struct gi_kv_layer *kv = &graph->kv_cache[layer];
    const struct gi_qkv_layout layout = qkv_layout(graph, layer);
    const struct gi_rows own = {kv->range, layout.n_head * layout.head_dim, false};
    const struct gi_rows *qkv = graph->is_batch ? &graph->qkv : &graph->row;
    const struct gi_rows *q = graph->is_batch ? &graph->q : &own;
    if (norm) {
        gi_op_norm_rope_kv(&graph->recorder, "norm_rope_kv", &layout, qkv, &graph->vectors, norm,
                           rope, kv, q);
    } else {
        gi_op_rope_kv(&graph->recorder, "rope_kv", &layout, qkv, &graph->vectors, rope, kv, q);
    }
}

// norm may be NULL.
static void qkv_turned(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope, const struct gi_head_norm *norm)
{
    if (graph->joint) {
        qkv_rows(graph, layer, before);
        gi_joint_rope_kv(graph, layer, rope, norm);
        return;
    }
    const bool is_left = leave_to_attention(graph, layer, rope, norm);
    qkv_rows(graph, layer, before);
    if (!is_left) {
        turn_rows(graph, layer, rope, norm);
    }
}

void gi_graph_qkv_turned(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope)
{
    qkv_turned(graph, layer, GI_NORM_ATTN, rope, NULL);
}

void gi_graph_qkv_norm(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                       const struct gi_rope *rope)
{
    const struct gi_head_norm norm = head_norm(graph, layer);
    qkv_turned(graph, layer, before, rope, &norm);
}

void gi_graph_pass_on(struct gi_graph *graph, const char *label, const struct gi_rows *rows,
                      uint32_t width, const struct gi_weight *out, const struct gi_rows *spare,
                      struct gi_rows *input)
{
    struct gi_recorder *recorder = &graph->recorder;
    *input = gi_half_rows(recorder, spare);
    if (input->is_half) {
        gi_op_half_rows(recorder, label, rows, width, input);
        return;
    }
    *input = *rows;
    gi_op_pack_rows(recorder, "pack_rows", input, width, out);
}

// Leaves what the projection after it reads in attn_input.
static void attention_batch(struct gi_graph *graph, const struct gi_kv_layer *kv,
                            const struct gi_weight *out, const struct gi_score_rule *rule)
{
    struct gi_recorder *recorder = &graph->recorder;
    struct gi_rows *input = &graph->attn_input;
    const uint32_t width = kv->n_head * kv->head_dim;
    const bool has_gate = graph->qkv_layout.gate_begin > 0;
    *input = gi_half_rows(recorder, &graph->attn);
    if (!has_gate && (!input->is_half || gi_attention_has_halves(recorder, kv))) {
        gi_op_attention_batch(recorder, "attention", kv, rule, &graph->q, input);
        gi_op_pack_rows(recorder, "pack_rows", input, width, out);
        return;
    }
    gi_op_attention_batch(recorder, "attention", kv, rule, &graph->q, &graph->attn);
    if (has_gate) {
        gi_op_gate_rows(recorder, "attn_gate", &graph->qkv_layout, &graph->qkv, &graph->attn);
    }
    gi_graph_pass_on(graph, "attn_half", &graph->attn, width, out, &graph->q, &graph->attn_input);
}

static void attention_step(struct gi_graph *graph, const struct gi_kv_layer *kv,
                           const struct gi_score_rule *rule)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_rows rows = {graph->attention.range, kv->n_head * kv->head_dim, false};
    const bool has_gate = graph->qkv_layout.gate_begin > 0;
    if (graph->has_attention_input) {
        gi_op_attention_qkv(recorder, "attention", kv, rule, &graph->attention_input,
                            &graph->attention);
    } else {
        gi_op_attention(recorder, "attention", kv, rule, &graph->attention);
    }
    if (has_gate) {
        gi_op_gate_rows(recorder, "attn_gate", &graph->qkv_layout, &graph->row, &rows);
    }
}

// An encoder's window lies half on either side.
static struct gi_score_rule score_rule(const struct gi_hparams *hparams, uint32_t layer)
{
    const uint32_t window = gi_has_window(hparams, layer) ? hparams->window : 0;
    struct gi_score_rule rule = {
        .scale = hparams->attention_scale,
        .softcap = hparams->attention_softcap,
        .window = window,
        .max_bias = hparams->max_alibi_bias,
    };
    if (hparams->is_encoder) {
        rule.after = window > 0 ? window / 2 : GI_ALL_KEYS;
        rule.window = window > 0 ? window / 2 + 1 : 0;
    }
    return rule;
}

void gi_graph_attention(struct gi_graph *graph, uint32_t layer)
{
    const struct gi_kv_layer *kv = &graph->kv_cache[layer];
    const struct gi_hparams *hparams = graph->hparams;
    struct gi_score_rule rule = score_rule(hparams, layer);
    rule.sinks = norm_offset(graph, layer, GI_NORM_SINKS);
    rule.has_sinks = rule.sinks != UINT32_MAX;
    rule.vectors = graph->vectors.range;
    if (gi_layer_kind(hparams, layer) == GI_LAYER_CROSS) {
        rule.keys = graph->cross_state;
        rule.after = GI_ALL_KEYS;
    }
    if (graph->joint) {
        gi_joint_attention(graph, layer, &rule);
        return;
    }
    if (graph->is_batch) {
        attention_batch(graph, kv, layer_weight(graph, layer, GI_SLOT_OUT), &rule);
        return;
    }
    attention_step(graph, kv, &rule);
}

struct gi_step_x gi_graph_attn_x(const struct gi_graph *graph, uint32_t layer)
{
    const bool has_sums = graph->qkv_layout.gate_begin == 0 &&
                          gi_attention_has_sums(&graph->recorder, &graph->kv_cache[layer]);
    return (struct gi_step_x){graph->attention.range, 0, has_sums};
}

void gi_graph_attn_out(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_project_back(graph, "attn_out", layer_weight(graph, layer, GI_SLOT_OUT),
                          gi_graph_attn_x(graph, layer), &graph->attn_input);
}

void gi_graph_attn_out_norm(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_project_back_normed(graph, "attn_out", layer, layer_weight(graph, layer, GI_SLOT_OUT),
                                 gi_graph_attn_x(graph, layer), &graph->attn_input,
                                 GI_NORM_ATTN_POST, GI_NORM_FFN, UINT32_MAX);
}

void gi_graph_attention_block(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv(graph, layer, graph->hparams->n_rot);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
}

//-- feed-forward --------------------------------------------------------------------------------

void gi_graph_network_up(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                         const struct gi_weight *gate_up, const struct gi_weight *down)
{
    struct gi_recorder *recorder = &graph->recorder;
    const uint32_t n_ff = gi_layer_ff(graph->hparams, layer);
    const struct gi_activation_rule rule = {graph->hparams->activation,
                                            graph->hparams->xielu[layer]};
    if (!graph->is_batch) {
        norm_step(graph, "ffn_norm", layer, before);
        gi_graph_adapt_stream(graph, gate_up, before != GI_NORM_NONE);
        gi_op_gemv_glu(recorder, "ffn_gate_up", gate_up, n_ff, &rule, before != GI_NORM_NONE,
                       &graph->stream, graph->ffn_act, &graph->ffn_act_has_sums);
        return;
    }
    graph->ffn_input = gi_glu_has_halves(gate_up) ? gi_half_rows(recorder, &graph->ffn_act_rows)
                                                  : graph->ffn_act_rows;
    gi_graph_norm_product(graph, "ffn_norm", "ffn_gate_up", layer, before, gate_up,
                          &graph->ffn_gate_up);
    gi_op_glu(recorder, "ffn_act", gate_up, &graph->ffn_gate_up, n_ff, &rule, &graph->ffn_input);
    gi_op_pack_rows(recorder, "pack_rows", &graph->ffn_input, (uint32_t)gi_round_up(n_ff, 4), down);
}

void gi_graph_ffn_up(struct gi_graph *graph, uint32_t layer, enum gi_norm before)
{
    gi_graph_network_up(graph, layer, before, layer_weight(graph, layer, GI_SLOT_GATE_UP),
                        layer_weight(graph, layer, GI_SLOT_DOWN));
}

void gi_graph_ffn_down(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_project_back(graph, "ffn_down", layer_weight(graph, layer, GI_SLOT_DOWN),
                          gi_graph_ffn_x(graph), &graph->ffn_input);
}

static void ffn_down_normed(struct gi_graph *graph, uint32_t layer, uint32_t scale)
{
    gi_graph_project_back_normed(graph, "ffn_down", layer, layer_weight(graph, layer, GI_SLOT_DOWN),
                                 gi_graph_ffn_x(graph), &graph->ffn_input, GI_NORM_FFN_POST,
                                 GI_NORM_NEXT, scale);
}

void gi_graph_ffn_down_norm(struct gi_graph *graph, uint32_t layer)
{
    ffn_down_normed(graph, layer, UINT32_MAX);
}

void gi_graph_ffn_down_scaled(struct gi_graph *graph, uint32_t layer)
{
    ffn_down_normed(graph, layer, norm_offset(graph, layer, GI_NORM_OUT_SCALE));
}

void gi_graph_ffn_block(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ffn_up(graph, layer, GI_NORM_FFN);
    gi_graph_ffn_down(graph, layer);
}
