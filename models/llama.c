// The Llama family: SmolLM2, TinyLlama, Llama 2 and 3 (with the RoPE factors of 3.1), Mistral and Mixtral. Pre-norm
// blocks of self-attention with grouped heads and a SwiGLU network; q and k rows of a GGUF file are
// ordered so that rotary pairs are adjacent.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_hparams_read(gguf, "llama", hparams, err);
}

static bool read_expert_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                                struct glinfer_error *err)
{
    return read_hparams(gguf, hparams, err) && gi_hparams_read_experts(gguf, "llama", hparams, err);
}

//-- layer ---------------------------------------------------------------------------------------

static bool record_expert_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_attention_block(graph, layer, err) && gi_graph_experts_block(graph, layer, err);
}

static const struct gi_model_family mixture = {
    .name = "llama",
    .read_hparams = read_expert_hparams,
    .weights = gi_expert_weights,
    .n_weights = GI_EXPERT_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = record_expert_layer,
};

const struct gi_model_family gi_model_family_llama = {
    .name = "llama",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
    .with_experts = &mixture,
};
