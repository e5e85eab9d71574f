// Qwen 3: pre-norm blocks in which each head of q and k has a norm before it is turned; rotary pairs lie
// half a head apart.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    return gi_hparams_read(gguf, "qwen3", hparams, err);
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm",   GI_DIM_EMBD},
    {GI_NORM_Q,    "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K,    "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_FFN,  "blk.%u.ffn_norm",    GI_DIM_EMBD},
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &graph->rope, err) &&
           gi_graph_attention(graph, layer, err) && gi_graph_attn_out(graph, layer, err) &&
           gi_graph_ffn_block(graph, layer, err);
}

const struct gi_model_family gi_model_family_qwen3 = {
    .name = "qwen3",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
