// Gemma 2: a norm before and after either block, GELU, soft caps of the scores of attention and of the
// logits, and a window in every other layer. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    enum { N_LAYER_27B = 46 };
    const char *const prefix = "gemma2";
    facts->rope_pairing = GI_ROPE_PAIRING_HALVES;
    facts->activation = GI_ACTIVATION_GELU_TANH;
    if (!gi_model_facts_read(gguf, prefix, facts, err) ||
        !gi_model_facts_u32(gguf, prefix, "attention.sliding_window", 4096, &facts->window, err) ||
        !gi_model_facts_window_period(gguf, prefix, 2, facts, err) ||
        !gi_model_facts_f32(gguf, prefix, "attn_logit_softcapping", 50.0f,
                            &facts->attention_softcap, err) ||
        !gi_model_facts_f32(gguf, prefix, "final_logit_softcapping", 30.0f, &facts->logit_softcap,
                            err)) {
        return false;
    }
    if (facts->n_layer == N_LAYER_27B) {
        facts->attention_scale = 1.0f / sqrtf((float)facts->n_embd / (float)facts->n_head);
    }
    facts->embed_scale = sqrtf((float)facts->n_embd);
    return true;
}

const struct gi_model_family gi_model_family_gemma2 = {
    .name = "gemma2",
    .read_facts = read_facts,
    .weights = gi_post_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_sandwich_norms,
    .n_norms = GI_SANDWICH_N_NORMS,
    .record_layer = gi_sandwich_record_layer,
};
