// Nemotron and Minitron: layernorms, rotation of the first part of a head, and a network without a
// gate whose activation is the square of a ReLU. A file's norms have the 1 added that their
// training leaves out.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_nemotron = {
    .name = "nemotron",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_RELU_SQUARED,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(gi_ungated_weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
};
