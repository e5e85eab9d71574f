// Granite 3 and its mixtures of experts: the Llama family's blocks with scales of the embedding, the scores of attention, what blocks
// add to the residual, and the logits.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- facts ---------------------------------------------------------------------------------------

static bool read_scaled(const struct gi_gguf *gguf, const char *prefix,
                        struct gi_model_facts *facts, struct glinfer_error *err)
{
    float logit_divisor;
    bool has_rope;
    facts->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    if (!gi_model_facts_read(gguf, prefix, facts, err) ||
        !gi_model_facts_f32(gguf, prefix, "embedding_scale", 1.0f, &facts->embed_scale, err) ||
        !gi_model_facts_f32(gguf, prefix, "residual_scale", 1.0f, &facts->residual_scale, err) ||
        !gi_model_facts_f32(gguf, prefix, "attention.scale", facts->attention_scale,
                            &facts->attention_scale, err) ||
        !gi_model_facts_f32(gguf, prefix, "logit_scale", 1.0f, &logit_divisor, err) ||
        !gi_model_facts_bool(gguf, prefix, "rope.scaling.finetuned", true, &has_rope, err)) {
        return false;
    }
    facts->logit_scale = 1.0f / logit_divisor;
    facts->n_rot = has_rope ? facts->n_rot : 0;
    return true;
}

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    return read_scaled(gguf, "granite", facts, err);
}

static bool read_expert_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                              struct glinfer_error *err)
{
    const char *const prefix = "granitemoe";
    uint32_t n_shared;
    if (!read_scaled(gguf, prefix, facts, err) ||
        !gi_model_facts_read_experts(gguf, prefix, facts, err) ||
        !gi_model_facts_u32(gguf, prefix, "expert_shared_feed_forward_length", 0, &n_shared, err)) {
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
    .read_facts = read_facts,
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
    .read_facts = read_expert_facts,
    .weights = gi_expert_weights,
    .n_weights = GI_EXPERT_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = record_expert_layer,
};
