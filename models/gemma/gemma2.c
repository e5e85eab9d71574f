// Gemma 2: a norm before and after either block, GELU, soft caps of the scores of attention and of
// the logits, and a window in every other layer. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"

#include <math.h>

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    enum { N_LAYER_27B = 46 };
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    if (hparams->n_layer == N_LAYER_27B) {
        hparams->attention_scale = 1.0f / sqrtf((float)hparams->n_embd / (float)hparams->n_head);
    }
    return gi_hparams_u32(reader, "attention.sliding_window", 4096, &hparams->window) &&
           gi_hparams_window_period(reader, 2, hparams) &&
           gi_hparams_f32(reader, "attn_logit_softcapping", 50.0f, &hparams->attention_softcap) &&
           gi_hparams_f32(reader, "final_logit_softcapping", 30.0f, &hparams->logit_softcap);
}

const struct gi_model_family gi_model_family_gemma2 = {
    .name = "gemma2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    GI_SANDWICH_BLOCKS,
};
