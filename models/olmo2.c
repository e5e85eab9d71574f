// OLMo 2 and 3: no norm before the blocks, one after each, and one over all of q and of k. OLMo 3 has a
// window in three of four layers, where the stretched context's rotations do not hold.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- facts ---------------------------------------------------------------------------------------

static bool read_facts(const struct gi_gguf *gguf, struct gi_model_facts *facts,
                       struct glinfer_error *err)
{
    const char *const prefix = "olmo2";
    facts->rope_pairing = GI_ROPE_PAIRING_HALVES;
    facts->window_rope = (struct gi_rope_facts){.divisor = 1.0f, .magnitude = 1.0f};
    if (!gi_model_facts_read(gguf, prefix, facts, err) ||
        !gi_model_facts_u32(gguf, prefix, "attention.sliding_window", 0, &facts->window, err) ||
        !gi_model_facts_window_period(gguf, prefix, 4, facts, err) ||
        !gi_model_facts_f32(gguf, prefix, "rope.freq_base_swa", facts->rope.base,
                            &facts->window_rope.base, err)) {
        return false;
    }
    facts->has_window_rope = facts->window > 0;
    return true;
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_norm_spec norms[] = {
    {GI_NORM_Q,         "blk.%u.attn_q_norm",         GI_DIM_Q   },
    {GI_NORM_K,         "blk.%u.attn_k_norm",         GI_DIM_KV  },
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST,  "blk.%u.post_ffw_norm",       GI_DIM_EMBD},
};

//-- layer ---------------------------------------------------------------------------------------

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    const struct gi_rope *rope =
        gi_has_window(graph->facts, layer) ? &graph->window_rope : &graph->rope;
    return gi_graph_qkv_norm(graph, layer, GI_NORM_NONE, rope, err) &&
           gi_post_norm_record_rest(graph, layer, GI_NORM_NONE, err);
}

const struct gi_model_family gi_model_family_olmo2 = {
    .name = "olmo2",
    .read_facts = read_facts,
    .weights = gi_post_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = norms,
    .n_norms = sizeof(norms) / sizeof(norms[0]),
    .record_layer = record_layer,
};
