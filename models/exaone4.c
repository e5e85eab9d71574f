// EXAONE 4: no norm before the blocks, one after each, and one of each head of q and k. The 32B has a window in
// three of four layers and turns only these.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    enum { N_LAYER_32B = 64 };
    const char *const prefix = "exaone4";
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    if (!gi_hparams_read(gguf, prefix, hparams, err)) {
        return false;
    }
    return hparams->n_layer != N_LAYER_32B ||
           (gi_hparams_u32(gguf, prefix, "attention.sliding_window", 4096, &hparams->window, err) &&
            gi_hparams_window_period(gguf, prefix, 4, hparams, err));
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_norm_spec norms[] = {
    {GI_NORM_Q,         "blk.%u.attn_q_norm",         GI_DIM_HEAD},
    {GI_NORM_K,         "blk.%u.attn_k_norm",         GI_DIM_HEAD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST,  "blk.%u.post_ffw_norm",       GI_DIM_EMBD},
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    struct gi_rope rope = graph->rope;
    if (graph->hparams->window > 0 && !gi_has_window(graph->hparams, layer)) {
        rope.n_rot = 0;
    }
    return gi_graph_qkv_norm(graph, layer, GI_NORM_NONE, &rope, err) &&
           gi_post_norm_record_rest(graph, layer, GI_NORM_NONE, err);
}

const struct gi_model_family gi_model_family_exaone4 = {
    .name = "exaone4",
    .read_hparams = read_hparams,
    .weights = gi_post_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
