#include "hf/families/hf_layers.h"

#include <string.h>

uint32_t gi_hf_layer_count(struct gi_hf_build *b)
{
    const uint32_t n = gi_hf_u32(b, "num_hidden_layers");
    if (gi_hf_ok(b) && (n == 0 || n > GI_HF_MAX_LAYERS)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: num_hidden_layers is %u, expected 1 to %d", n, GI_HF_MAX_LAYERS);
    }
    return gi_hf_ok(b) ? n : 0;
}

bool gi_hf_read_layers(struct gi_hf_build *b, const char *kinds, struct gi_hf_layers *layers)
{
    memset(layers, 0, sizeof(*layers));
    layers->count = gi_hf_layer_count(b);
    const cJSON *list = gi_hf_get(b, "layer_types|layers_block_type");
    if (!list || !gi_hf_ok(b)) {
        return false;
    }
    const cJSON *item = cJSON_IsArray(list) ? list->child : NULL;
    for (uint32_t i = 0; i < layers->count; i++) {
        if (!cJSON_IsString(item)) {
            gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                       "config.json: the key layer_types is invalid, expected a list of %u texts",
                       layers->count);
            return false;
        }
        layers->is[i] = gi_hf_is_word(item->valuestring, kinds);
        item = item->next;
    }
    return true;
}

// Returns true for a layer with a window.
static bool is_windowed(uint32_t layer, uint32_t period, bool is_first)
{
    return period > 0 && (layer + !is_first) % period != 0;
}

bool gi_hf_add_windows(struct gi_hf_build *b, uint32_t period, uint32_t usual_period, bool is_first)
{
    struct gi_hf_layers windowed;
    const bool has_list = gi_hf_read_layers(b, "sliding_attention", &windowed);
    bool is_usual = true;
    for (uint32_t i = 0; i < windowed.count; i++) {
        windowed.is[i] = has_list ? windowed.is[i] : is_windowed(i, period, is_first);
        is_usual = is_usual && windowed.is[i] == is_windowed(i, usual_period, is_first);
    }
    if (!is_usual) {
        gi_hf_add_bools(b, "attention.sliding_window_pattern", windowed.is, windowed.count);
    }
    return !is_usual;
}

void gi_hf_limit_context(struct gi_hf_build *b)
{
    b->n_window =
        gi_hf_bool_or(b, "use_sliding_window", true) ? gi_hf_u32_or(b, "sliding_window", 0) : 0;
}

void gi_hf_add_layer_u32s(struct gi_hf_build *b, const char *key, const struct gi_hf_layers *layers,
                          uint32_t value, uint32_t other)
{
    uint32_t values[GI_HF_MAX_LAYERS];
    for (uint32_t i = 0; i < layers->count; i++) {
        values[i] = layers->is[i] ? value : other;
    }
    gi_hf_add_u32s(b, key, values, layers->count);
}

void gi_hf_add_sizes(struct gi_hf_build *b)
{
    gi_hf_add_u32(b, "block_count", gi_hf_layer_count(b));
    gi_hf_add_u32(b, "embedding_length", gi_hf_u32(b, "hidden_size"));
    gi_hf_add_u32(b, "attention.head_count", gi_hf_u32(b, "num_attention_heads"));
    gi_hf_add_u32(b, "vocab_size", gi_hf_u32(b, "vocab_size"));
    gi_hf_add_f32(b, "attention.layer_norm_rms_epsilon", gi_hf_f32(b, "rms_norm_eps|norm_eps"));
}

void gi_hf_add_head_dim(struct gi_hf_build *b, uint32_t head_dim)
{
    gi_hf_add_u32(b, "attention.key_length", head_dim);
    gi_hf_add_u32(b, "attention.value_length", head_dim);
}

float gi_hf_rope_base(struct gi_hf_build *b, float fallback)
{
    return gi_hf_f32_or(b,
                        "rope_parameters.full_attention.rope_theta|rope_parameters.rope_theta|"
                        "rope_theta|global_rope_theta",
                        fallback);
}

float gi_hf_window_base(struct gi_hf_build *b, float fallback)
{
    return gi_hf_f32_or(b,
                        "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq|"
                        "local_rope_theta",
                        fallback);
}

void gi_hf_add_shared_expert(struct gi_hf_build *b)
{
    const uint32_t n = gi_hf_u32(b, "shared_expert_intermediate_size");
    if (n == 0) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: shared_expert_intermediate_size is 0, expected a positive number");
    }
    gi_hf_add_u32(b, "expert_shared_feed_forward_length", n);
}

void gi_hf_add_experts(struct gi_hf_build *b, const char *count_key)
{
    gi_hf_add_u32(b, "expert_count", gi_hf_u32(b, count_key));
    gi_hf_add_u32(b, "expert_used_count", gi_hf_u32(b, "num_experts_per_tok"));
}
