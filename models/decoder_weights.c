#include "models/decoder_weights.h"

const struct gi_weight_spec gi_pre_norm_weights[GI_DECODER_N_WEIGHTS] = {
    {.slot = GI_SLOT_QKV,
     .name = "attn_qkv",
     .order = GI_WEIGHT_ORDER_QKV,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.attn_q", GI_DIM_Q},
                 {"blk.%u.attn_k", GI_DIM_KV},
                 {"blk.%u.attn_v", GI_DIM_KV}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_OUT,
     .name = "attn_out",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_Q,
     .sources = {{"blk.%u.attn_output", GI_DIM_EMBD}},
     .next_norm = GI_NORM_FFN },
    {.slot = GI_SLOT_GATE_UP,
     .name = "ffn_gate_up",
     .order = GI_WEIGHT_ORDER_GATE_UP,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.ffn_gate", GI_DIM_FF}, {"blk.%u.ffn_up", GI_DIM_FF}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_DOWN,
     .name = "ffn_down",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_FF,
     .sources = {{"blk.%u.ffn_down", GI_DIM_EMBD}},
     .next_norm = GI_NORM_NEXT},
};

const struct gi_weight_spec gi_post_norm_weights[GI_DECODER_N_WEIGHTS] = {
    {.slot = GI_SLOT_QKV,
     .name = "attn_qkv",
     .order = GI_WEIGHT_ORDER_QKV,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.attn_q", GI_DIM_Q},
                 {"blk.%u.attn_k", GI_DIM_KV},
                 {"blk.%u.attn_v", GI_DIM_KV}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_OUT,
     .name = "attn_out",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_Q,
     .sources = {{"blk.%u.attn_output", GI_DIM_EMBD}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_GATE_UP,
     .name = "ffn_gate_up",
     .order = GI_WEIGHT_ORDER_GATE_UP,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.ffn_gate", GI_DIM_FF}, {"blk.%u.ffn_up", GI_DIM_FF}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_DOWN,
     .name = "ffn_down",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_FF,
     .sources = {{"blk.%u.ffn_down", GI_DIM_EMBD}},
     .next_norm = GI_NORM_NONE},
};

const struct gi_weight_spec gi_expert_weights[GI_EXPERT_N_WEIGHTS] = {
    {.slot = GI_SLOT_QKV,
     .name = "attn_qkv",
     .order = GI_WEIGHT_ORDER_QKV,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.attn_q", GI_DIM_Q},
                 {"blk.%u.attn_k", GI_DIM_KV},
                 {"blk.%u.attn_v", GI_DIM_KV}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_OUT,
     .name = "attn_out",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_Q,
     .sources = {{"blk.%u.attn_output", GI_DIM_EMBD}},
     .next_norm = GI_NORM_FFN },
    {.slot = GI_SLOT_GATE_UP,
     .name = "ffn_gate_up",
     .order = GI_WEIGHT_ORDER_EXPERTS_GATE_UP,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.ffn_gate_exps", GI_DIM_FF}, {"blk.%u.ffn_up_exps", GI_DIM_FF}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_DOWN,
     .name = "ffn_down",
     .order = GI_WEIGHT_ORDER_EXPERTS,
     .cols = GI_DIM_FF,
     .sources = {{"blk.%u.ffn_down_exps", GI_DIM_EMBD}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_ROUTER,
     .name = "router",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.ffn_gate_inp", GI_DIM_EXPERT}},
     .next_norm = GI_NORM_NONE},
};

const struct gi_norm_spec gi_pre_norm_norms[GI_PRE_NORM_N_NORMS] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,  "blk.%u.ffn_norm",  GI_DIM_EMBD},
};

bool gi_pre_norm_record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_attention_block(graph, layer, err) && gi_graph_ffn_block(graph, layer, err);
}

bool gi_post_norm_record_rest(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                              struct glinfer_error *err)
{
    return gi_graph_attention(graph, layer, err) && gi_graph_attn_out_norm(graph, layer, err) &&
           gi_graph_ffn_up(graph, layer, before, err) && gi_graph_ffn_down_norm(graph, layer, err);
}
