// StableLM 2 and 3B: the Llama family's blocks with layernorms, and rotation of the first part of a head.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    const char *const prefix = "stablelm";
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    return gi_hparams_read(gguf, prefix, hparams, err) &&
           gi_hparams_f32(gguf, prefix, "attention.layer_norm_epsilon", hparams->norm_eps,
                          &hparams->norm_eps, err);
}

//-- weights -------------------------------------------------------------------------------------

// The 12B has no ffn_norm, for its two blocks run side by side: it is refused for the lack of it.
static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN,       "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,        "blk.%u.ffn_norm",  GI_DIM_EMBD},
    {GI_NORM_FFN_SHIFT,  "blk.%u.ffn_norm",  GI_DIM_EMBD},
};

const struct gi_model_family gi_model_family_stablelm = {
    .name = "stablelm",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = gi_pre_norm_record_layer,
};
