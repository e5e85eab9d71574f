// EuroBERT and Jina Embeddings 5: the Llama family's blocks as an encoder, with rotary pairs that
// lie half a head apart.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    (void)reader;
    hparams->is_encoder = true;
    return true;
}

const struct gi_model_family gi_model_family_eurobert = {
    .name = "eurobert",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_PRE_NORM_BLOCKS,
};
