// Gemma, the first: the Llama family's blocks with GELU, heads wider than their share of the residual, and a
// scale of the embedding. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    facts->rope_pairing = GI_ROPE_PAIRING_HALVES;
    facts->activation = GI_ACTIVATION_GELU_TANH;
    if (!gi_model_facts_read(gguf, "gemma", facts, err)) {
        return false;
    }
    facts->embed_scale = sqrtf((float)facts->n_embd);
    return true;
}

const struct gi_model_family gi_model_family_gemma = {
    .name = "gemma",
    .read_facts = read_facts,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
