// GLM 4 (0414): a norm before and after either block, biases of q, k and v, gate and up in one tensor, and
// rotation of the first half of a head.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    facts->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_model_facts_read(gguf, "glm4", facts, err);
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
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_GATE_UP,
     .name = "ffn_gate_up",
     .order = GI_WEIGHT_ORDER_GATE_UP,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.ffn_up", GI_DIM_FF}, {"blk.%u.ffn_up", GI_DIM_FF}},
     .next_norm = GI_NORM_NONE},
    {.slot = GI_SLOT_DOWN,
     .name = "ffn_down",
     .order = GI_WEIGHT_ORDER_PLAIN,
     .cols = GI_DIM_FF,
     .sources = {{"blk.%u.ffn_down", GI_DIM_EMBD}},
     .next_norm = GI_NORM_NONE},
};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN,      "blk.%u.attn_norm",           GI_DIM_EMBD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,       "blk.%u.ffn_norm",            GI_DIM_EMBD},
    {GI_NORM_FFN_POST,  "blk.%u.post_ffw_norm",       GI_DIM_EMBD},
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_qkv(graph, layer, graph->facts->n_rot, err) &&
           gi_post_norm_record_rest(graph, layer, GI_NORM_FFN, err);
}

const struct gi_model_family gi_model_family_glm4 = {
    .name = "glm4",
    .read_facts = read_facts,
    .weights = weights,
    .n_weights = sizeof(weights) / sizeof(weights[0]),
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
