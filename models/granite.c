// Granite 3 and its mixtures of experts: the Llama family's blocks with scales of the embedding, the scores of attention, what blocks
// add to the residual, and the logits.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_scaled(const struct gi_gguf *gguf, const char *prefix, struct gi_hparams *hparams,
                        struct glinfer_error *err)
{
    float logit_divisor;
    bool has_rope;
    hparams->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    if (!gi_hparams_read(gguf, prefix, hparams, err) ||
        !gi_hparams_f32(gguf, prefix, "embedding_scale", 1.0f, &hparams->embed_scale, err) ||
        !gi_hparams_f32(gguf, prefix, "residual_scale", 1.0f, &hparams->residual_scale, err) ||
        !gi_hparams_f32(gguf, prefix, "attention.scale", hparams->attention_scale,
                        &hparams->attention_scale, err) ||
        !gi_hparams_f32(gguf, prefix, "logit_scale", 1.0f, &logit_divisor, err) ||
        !gi_hparams_bool(gguf, prefix, "rope.scaling.finetuned", true, &has_rope, err)) {
        return false;
    }
    hparams->logit_scale = 1.0f / logit_divisor;
    hparams->n_rot = has_rope ? hparams->n_rot : 0;
    return true;
}

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    return read_scaled(gguf, "granite", hparams, err);
}

static bool read_expert_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                                struct glinfer_error *err)
{
    const char *const prefix = "granitemoe";
    uint32_t n_shared;
    if (!read_scaled(gguf, prefix, hparams, err) ||
        !gi_hparams_read_experts(gguf, prefix, hparams, err) ||
        !gi_hparams_u32(gguf, prefix, "expert_shared_feed_forward_length", 0, &n_shared, err)) {
        return false;
    }
    return n_shared == 0 ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: an expert that all tokens share (%u wide) is not supported",
                        gi_gguf_path(gguf), n_shared);
}

//-- layer ---------------------------------------------------------------------------------------

const struct gi_model_family gi_model_family_granite = {
    .name = "granite",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};

static bool record_expert_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_attention_block(graph, layer, err) && gi_graph_experts_block(graph, layer, err);
}

const struct gi_model_family gi_model_family_granitemoe = {
    .name = "granitemoe",
    .read_hparams = read_expert_hparams,
    .weights = gi_expert_weights,
    .n_weights = GI_EXPERT_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = record_expert_layer,
};
