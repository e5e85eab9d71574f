// Phi 3 and 4: q, k and v are one tensor, gate and up another; contexts stretched by longrope.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

#include <math.h>
#include <string.h>

static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    GI_HF_OUTPUT(GI_HF_NONE),
    GI_HF_PRE_NORMS,
    {"layers.%.self_attn.qkv_proj.weight", "blk.%.attn_qkv.weight", GI_HF_NONE},
    {"layers.%.self_attn.o_proj.weight", "blk.%.attn_output.weight", GI_HF_NONE},
    {"layers.%.mlp.gate_up_proj.weight", "blk.%.ffn_up.weight", GI_HF_NONE},
    {"layers.%.mlp.down_proj.weight", "blk.%.ffn_down.weight", GI_HF_NONE},
};

#define N_ORIGINAL "original_max_position_embeddings"

// Adds a tensor of one factor for each pair.
static void add_factors(struct gi_hf_build *b, const char *key, const char *name, uint32_t n_pair)
{
    enum { MAX_PAIRS = 256 };
    float factors[MAX_PAIRS];
    const cJSON *list = gi_hf_get(b, key), *item;
    uint32_t n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (n < MAX_PAIRS && cJSON_IsNumber(item)) {
            factors[n] = (float)item->valuedouble;
        }
        n++;
    }
    if (!cJSON_IsArray(list) || n != n_pair || n > MAX_PAIRS) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: rope_scaling has %u numbers for %s, expected %u, at most %d", n,
                   name, n_pair, MAX_PAIRS);
        return;
    }
    gi_hf_add_values(b, name, factors, n);
}

static void add_longrope(struct gi_hf_build *b, uint32_t n_ctx, uint32_t n_orig, uint32_t n_rot)
{
    const float scale = (float)n_ctx / (float)n_orig;
    gi_hf_add_f32(b, "rope.scaling.attn_factor",
                  scale > 1.0f ? sqrtf(1.0f + logf(scale) / logf((float)n_orig)) : 1.0f);
    add_factors(b, GI_HF_ROPE("long_factor"), "rope_factors_long.weight", n_rot / 2);
    add_factors(b, GI_HF_ROPE("short_factor"), "rope_factors_short.weight", n_rot / 2);
}

static void build(struct gi_hf_build *b)
{
    const uint32_t n_head = gi_hf_u32(b, "num_attention_heads");
    const uint32_t n_ctx = gi_hf_u32(b, "max_position_embeddings");
    const char *type = gi_hf_text_or(b, GI_HF_ROPE_TYPE, "default");
    const uint32_t n_orig = gi_hf_u32(b, GI_HF_ROPE(N_ORIGINAL) "|" N_ORIGINAL);
    // of all heads together
    const uint32_t n_rotated =
        gi_hf_fraction_of(b, gi_hf_u32(b, "hidden_size"),
                          GI_HF_ROPE("partial_rotary_factor") "|partial_rotary_factor", 1.0f);
    if (!gi_hf_ok(b) || n_head == 0 || n_orig < 2 || n_rotated == 0) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: %u heads, %u rotated elements of them and an original context of "
                   "%u are invalid",
                   n_head, n_rotated, n_orig);
        return;
    }
    const uint32_t n_rot = n_rotated / n_head;
    gi_hf_add_sizes(b);
    gi_hf_limit_context(b);
    gi_hf_add_u32(b, "context_length", gi_hf_context(b));
    gi_hf_add_u32(b, "feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    gi_hf_add_u32(b, "attention.head_count_kv", gi_hf_u32_or(b, "num_key_value_heads", n_head));
    gi_hf_add_f32(b, "rope.freq_base", gi_hf_rope_base(b, 10000.0f));
    gi_hf_add_u32(b, "rope.dimension_count", n_rot);
    gi_hf_add_u32(b, "rope.scaling.original_context_length", n_orig);
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32_or(b, "sliding_window", 0));
    if (gi_hf_is_word(type, "longrope|su")) {
        add_longrope(b, n_ctx, n_orig, n_rot);
    } else if (strcmp(type, "default") != 0) {
        gi_hf_fail(
            b, GLINFER_STATUS_UNSUPPORTED,
            "config.json: RoPE scaling \"%.40s\" of Phi 3 is not supported, only default and "
            "longrope",
            type);
    }
    GI_HF_ADD_ROWS(b, rows);
}

#define DEFAULTS                                                                                   \
    "{\"max_position_embeddings\":4096,\"original_max_position_embeddings\":4096,"                 \
    "\"rms_norm_eps\":1e-5}"

static const struct gi_hf_fixed fixed[] = {GI_HF_SILU, {NULL, NULL}};

const struct gi_hf_family gi_hf_phi3_families[] = {{"phi3", NULL, "phi3", build, DEFAULTS, fixed},
                                                   {NULL, NULL, NULL, NULL, NULL, NULL}};
