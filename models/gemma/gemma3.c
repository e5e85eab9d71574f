// Gemma 3: a norm before and after either block, a norm of each head of q and k, GELU, and of six
// layers five with a window and rotations of their own. The files' norm weights have the 1 added
// already.
#include "models/gemma/gemma3.h"

#include <math.h>

bool gi_gemma3_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    enum { N_LAYER_27B = 62 };
    hparams->has_window_rope = true;
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    if (hparams->n_layer == N_LAYER_27B) {
        hparams->attention_scale = 1.0f / sqrtf((float)hparams->n_embd / (float)hparams->n_head);
    }
    // Gemma 3 itself has no soft cap, which a positive number would be.
    return gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) &&
           gi_hparams_window_period(reader, 6, hparams) &&
           gi_hparams_f32(reader, "rope.freq_base_swa", 10000.0f, &hparams->window_rope.base) &&
           gi_gguf_get_f32(reader->gguf, "gemma3.final_logit_softcapping", 0.0f,
                           &hparams->logit_softcap, reader->err);
}

const struct gi_norm_spec gi_gemma3_norms[GI_GEMMA3_N_NORMS] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},
};

void gi_gemma3_record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, gi_layer_rope(graph, layer));
    gi_post_norm_record_rest(graph, layer, GI_NORM_FFN);
}

const struct gi_model_family gi_model_family_gemma3 = {
    .name = "gemma3",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = gi_gemma3_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    .norms = gi_gemma3_norms,
    .n_norms = GI_GEMMA3_N_NORMS,
    .record_layer = gi_gemma3_record_layer,
};
