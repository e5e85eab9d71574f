// The Llama family: SmolLM2, TinyLlama, Llama 2 and 3 (with the RoPE factors of 3.1), Mistral. Pre-norm
// blocks of self-attention with grouped heads and a SwiGLU network; q and k rows of a GGUF file are
// ordered so that rotary pairs are adjacent.
#include "models/families.h"

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    facts->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_model_facts_read(gguf, "llama", facts, err);
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_weight_spec weights[] = {
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

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm"},
    {GI_NORM_FFN,  "blk.%u.ffn_norm" },
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_attention_block(graph, layer, err) && gi_graph_ffn_block(graph, layer, err);
}

const struct gi_model_family gi_model_family_llama = {
    .name = "llama",
    .read_facts = read_facts,
    .weights = weights,
    .n_weights = sizeof(weights) / sizeof(weights[0]),
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
