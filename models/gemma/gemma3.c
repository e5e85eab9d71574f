// Gemma 3: a norm before and after either block, a norm of each head of q and k, GELU, and of six layers
// five with a window and rotations of their own. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- hparams ---------------------------------------------------------------------------------------

// Gemma 3 itself has none.
static bool read_softcap(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    const char *const key = "gemma3.final_logit_softcapping";
    return gi_gguf_get_f32(gguf, key, 0.0f, &hparams->logit_softcap, err);
}

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    enum { N_LAYER_27B = 62 };
    const char *const prefix = "gemma3";
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    hparams->activation = GI_ACTIVATION_GELU_TANH;
    hparams->has_window_rope = true;
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    if (!gi_hparams_read(gguf, prefix, hparams, err) ||
        !gi_hparams_u32(gguf, prefix, "attention.sliding_window", 0, &hparams->window, err) ||
        !gi_hparams_window_period(gguf, prefix, 6, hparams, err) ||
        !gi_hparams_f32(gguf, prefix, "rope.freq_base_swa", 10000.0f, &hparams->window_rope.base,
                        err) ||
        !read_softcap(gguf, hparams, err)) {
        return false;
    }
    if (hparams->n_layer == N_LAYER_27B) {
        hparams->attention_scale = 1.0f / sqrtf((float)hparams->n_embd / (float)hparams->n_head);
    }
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    return true;
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN,      "blk.%u.attn_norm",           GI_DIM_EMBD},
    {GI_NORM_Q,         "blk.%u.attn_q_norm",         GI_DIM_HEAD},
    {GI_NORM_K,         "blk.%u.attn_k_norm",         GI_DIM_HEAD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,       "blk.%u.ffn_norm",            GI_DIM_EMBD},
    {GI_NORM_FFN_POST,  "blk.%u.post_ffw_norm",       GI_DIM_EMBD},
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    const struct gi_rope *rope =
        gi_has_window(graph->hparams, layer) ? &graph->window_rope : &graph->rope;
    return gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, rope, err) &&
           gi_post_norm_record_rest(graph, layer, GI_NORM_FFN, err);
}

const struct gi_model_family gi_model_family_gemma3 = {
    .name = "gemma3",
    .read_hparams = read_hparams,
    .weights = gi_post_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
