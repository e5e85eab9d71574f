// Mistral 3 and Ministral 3: the Llama family's blocks, with contexts stretched by yarn. Past the
// context before that q grows with its position.
#include "models/decoder_weights.h"

#include <math.h>

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const float none = 1e-30f;
    struct gi_rope_hparams *rope = &hparams->rope;
    float multiplier, temperature;
    if (!gi_hparams_f32(reader, "rope.scaling.yarn_log_multiplier", none, &multiplier) ||
        !gi_hparams_f32(reader, "attention.temperature_scale", none, &temperature)) {
        return false;
    }
    rope->magnitude /= rope->is_yarn ? 1.0f + 0.1f * multiplier * logf(rope->divisor) : 1.0f;
    if (temperature > none && rope->n_ctx_orig > 0) {
        hparams->temperature = temperature;
        hparams->temperature_period = rope->n_ctx_orig;
    }
    return true;
}

const struct gi_model_family gi_model_family_mistral3 = {
    .name = "mistral3",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_hparams,
    GI_PRE_NORM_BLOCKS,
};
