// EmbeddingGemma: Gemma 3's layers as an encoder, in which tokens also see later ones. Embedding
// code computes the projections after the pooling (engine/model/dense_head.h).
#include "models/gemma/gemma3.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->is_encoder = true;
    return gi_gemma3_hparams(reader, hparams);
}

const struct gi_model_family gi_model_family_gemma_embedding = {
    .name = "gemma-embedding",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    .norms = gi_gemma3_norms,
    .n_norms = GI_GEMMA3_N_NORMS,
    .record_layer = gi_gemma3_record_layer,
};
