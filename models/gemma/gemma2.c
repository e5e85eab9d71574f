// Gemma 2: a norm before and after either block, GELU, soft caps of the scores of attention and of the
// logits, and a window in every other layer. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    enum { N_LAYER_27B = 46 };
    const char *const prefix = "gemma2";
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    hparams->activation = GI_ACTIVATION_GELU_TANH;
    if (!gi_hparams_read(gguf, prefix, hparams, err) ||
        !gi_hparams_u32(gguf, prefix, "attention.sliding_window", 4096, &hparams->window, err) ||
        !gi_hparams_window_period(gguf, prefix, 2, hparams, err) ||
        !gi_hparams_f32(gguf, prefix, "attn_logit_softcapping", 50.0f, &hparams->attention_softcap,
                        err) ||
        !gi_hparams_f32(gguf, prefix, "final_logit_softcapping", 30.0f, &hparams->logit_softcap,
                        err)) {
        return false;
    }
    if (hparams->n_layer == N_LAYER_27B) {
        hparams->attention_scale = 1.0f / sqrtf((float)hparams->n_embd / (float)hparams->n_head);
    }
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    return true;
}

const struct gi_model_family gi_model_family_gemma2 = {
    .name = "gemma2",
    .read_hparams = read_hparams,
    .weights = gi_post_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_sandwich_norms,
    .n_norms = GI_SANDWICH_N_NORMS,
    .record_layer = gi_sandwich_record_layer,
};
