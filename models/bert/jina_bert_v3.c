// Jina Embeddings 3: BERT's layers with rotations in the place of positions.
#include "models/bert/bert_layer.h"

const struct gi_model_family gi_model_family_jina_bert_v3 = {
    .name = "jina-bert-v3",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = gi_bert_hparams,
    GI_WEIGHTS(gi_bert_weights),
    GI_NORMS(gi_bert_norms),
    .output_norm = "token_embd_norm",
    .record_layer = gi_bert_record_layer,
};
