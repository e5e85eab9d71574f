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

bool gi_hf_read_layers(struct gi_hf_build *b, const char *kind, struct gi_hf_layers *layers)
{
    memset(layers, 0, sizeof(*layers));
    layers->count = gi_hf_layer_count(b);
    const cJSON *list = gi_hf_get(b, "layer_types");
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
        layers->is[i] = strcmp(item->valuestring, kind) == 0;
        item = item->next;
    }
    return true;
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

void gi_hf_add_experts(struct gi_hf_build *b, const char *count_key)
{
    gi_hf_add_u32(b, "expert_count", gi_hf_u32(b, count_key));
    gi_hf_add_u32(b, "expert_used_count", gi_hf_u32(b, "num_experts_per_tok"));
}
