// Apertus: the Llama family's blocks with norms of each head of q and k, and a network without a
// gate whose activation, xIELU, has numbers for each layer.
#include "models/decoder_weights.h"

#include <math.h>

// Finds a number of a layer, in a list of all or one that they share.
static bool read_number(const struct gi_hparams_reader *reader, const char *key, uint32_t layer,
                        float *out)
{
    struct gi_gguf_array list;
    if (!gi_gguf_has(reader->gguf, key)) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "the key %s is missing", key);
    }
    if (gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_F32, &list, NULL)) {
        *out = layer < list.count ? gi_gguf_array_f32(&list, layer) : NAN;
    } else if (!gi_gguf_get_f32(reader->gguf, key, 0, out, reader->err)) {
        return false;
    }
    return isfinite(*out) ||
           GI_HPARAMS_FAIL(reader, BAD_FILE, "%s has no number for layer %u", key, layer);
}

static float softplus(float x)
{
    return x > 20.0f ? x : logf(1.0f + expf(x));
}

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        struct gi_xielu *xielu = &hparams->xielu[i];
        float fall, square;
        if (!read_number(reader, "xielu.alpha_n", i, &fall) ||
            !read_number(reader, "xielu.alpha_p", i, &square) ||
            !read_number(reader, "xielu.beta", i, &xielu->slope) ||
            !read_number(reader, "xielu.eps", i, &xielu->edge)) {
            return false;
        }
        xielu->fall = xielu->slope + softplus(fall);
        xielu->square = softplus(square);
    }
    return true;
}

const struct gi_model_family gi_model_family_apertus = {
    .name = "apertus",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_XIELU,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_ungated_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_record_layer,
};
