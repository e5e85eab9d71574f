// BERT, and RoBERTa and XLM-R after it: positions as vectors of a table, a network without a gate
// whose activation is GELU, biases everywhere.
#include "models/bert/bert_layer.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->n_rot = 0;
    return gi_bert_hparams(reader, hparams);
}

const struct gi_model_family gi_model_family_bert = {
    .name = "bert",
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_bert_weights),
    GI_NORMS(gi_bert_norms),
    .output_norm = "token_embd_norm",
    .record_layer = gi_bert_record_layer,
};
