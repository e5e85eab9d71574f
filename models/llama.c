// The Llama family: SmolLM2, TinyLlama, Llama 2 and 3 (with the RoPE factors of 3.1), Mistral and Mixtral. Pre-norm
// blocks of self-attention with grouped heads and a SwiGLU network; q and k rows of a GGUF file are
// ordered so that rotary pairs are adjacent.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    facts->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_model_facts_read(gguf, "llama", facts, err);
}

static bool read_expert_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                              struct glinfer_error *err)
{
    return read_facts(gguf, facts, err) && gi_model_facts_read_experts(gguf, "llama", facts, err);
}

//-- layer ---------------------------------------------------------------------------------------

static bool record_expert_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_attention_block(graph, layer, err) && gi_graph_experts_block(graph, layer, err);
}

static const struct gi_model_family mixture = {
    .name = "llama",
    .read_facts = read_expert_facts,
    .weights = gi_expert_weights,
    .n_weights = GI_EXPERT_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = record_expert_layer,
};

const struct gi_model_family gi_model_family_llama = {
    .name = "llama",
    .read_facts = read_facts,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
    .with_experts = &mixture,
};
