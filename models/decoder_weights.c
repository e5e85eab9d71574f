#include "models/decoder_weights.h"

const struct gi_weight_spec gi_pre_norm_weights[GI_PRE_NORM_N_WEIGHTS] = {
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

const struct gi_norm_spec gi_pre_norm_norms[GI_PRE_NORM_N_NORMS] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,  "blk.%u.ffn_norm",  GI_DIM_EMBD},
};
