#include "models/decoder_weights.h"

const struct gi_weight_spec gi_pre_norm_weights[4] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_weight_spec gi_ungated_weights[4] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_weight_spec gi_post_norm_weights[4] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT_NORMED,
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN_NORMED,
};

const struct gi_weight_spec gi_expert_weights[5] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER,
};

const struct gi_weight_spec gi_gated_expert_weights[5] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER_GATED,
};

const struct gi_norm_spec gi_pre_norm_norms[2] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
};

const struct gi_norm_spec gi_layernorm_norms[4] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_SHIFT, "blk.%u.ffn_norm", GI_DIM_EMBD},
};

const struct gi_norm_spec gi_head_norm_norms[4] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
};

const struct gi_norm_spec gi_sandwich_norms[4] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},
};

void gi_pre_norm_record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_attention_block(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

void gi_expert_record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_attention_block(graph, layer);
    gi_graph_experts_block(graph, layer);
}

// is_before_norm: q and k are rotated before their norms.
static void head_norm_attention(struct gi_graph *graph, uint32_t layer, bool is_before_norm)
{
    struct gi_rope rope = graph->rope;
    rope.is_before_norm = is_before_norm;
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &rope);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
}

void gi_head_norm_record_layer(struct gi_graph *graph, uint32_t layer)
{
    head_norm_attention(graph, layer, false);
    gi_graph_ffn_block(graph, layer);
}

void gi_head_norm_expert_record_layer(struct gi_graph *graph, uint32_t layer)
{
    head_norm_attention(graph, layer, false);
    gi_graph_experts_block(graph, layer);
}

void gi_turned_norm_record_layer(struct gi_graph *graph, uint32_t layer)
{
    head_norm_attention(graph, layer, true);
    gi_graph_ffn_block(graph, layer);
}

void gi_turned_norm_expert_record_layer(struct gi_graph *graph, uint32_t layer)
{
    head_norm_attention(graph, layer, true);
    gi_graph_experts_block(graph, layer);
}

void gi_post_norm_record_rest(struct gi_graph *graph, uint32_t layer, enum gi_norm before)
{
    gi_graph_attention(graph, layer);
    gi_graph_attn_out_norm(graph, layer);
    gi_graph_ffn_up(graph, layer, before);
    gi_graph_ffn_down_norm(graph, layer);
}

void gi_sandwich_record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv(graph, layer, graph->hparams->n_rot);
    gi_post_norm_record_rest(graph, layer, GI_NORM_FFN);
}

bool gi_layernorm_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_hparams_f32(reader, "attention.layer_norm_epsilon", hparams->norm_eps,
                          &hparams->norm_eps);
}

bool gi_plain_window_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    if (!gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) ||
        !gi_hparams_window_period(reader, 4, hparams) ||
        !gi_hparams_f32(reader, "rope.freq_base_swa", hparams->rope.base,
                        &hparams->window_rope.base)) {
        return false;
    }
    hparams->has_window_rope = hparams->window > 0;
    return true;
}

const struct gi_rope *gi_layer_rope(const struct gi_graph *graph, uint32_t layer)
{
    return gi_has_window(graph->hparams, layer) ? &graph->window_rope : &graph->rope;
}
