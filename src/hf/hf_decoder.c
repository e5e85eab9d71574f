// Pairs that most decoders have, and the scaling of RoPE.
#include "hf/hf_build.h"

#include <math.h>
#include <string.h>

// Newer files have the rotations of layers without a window in an object of their own.
// Returns the factor by which contexts are stretched. Fails unless it is 1 to MOST.
static double read_factor(struct gi_hf_build *b)
{
    enum { MOST = 1000000 };
    const double factor = (double)gi_hf_f32(b, GI_HF_ROPE("factor"));
    if (!(factor >= 1 && factor <= MOST)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: the factor of rope_scaling is %g, expected 1 to %d", factor, MOST);
    }
    return factor;
}

// Adds the divisors of frequencies of Llama 3.1: long waves are stretched, short ones are kept.
//   transformers, modeling_rope_utils.py, _compute_llama3_parameters
static void add_llama3_factors(struct gi_hf_build *b, uint32_t head_dim)
{
    enum { MAX_HEAD_DIM = 1024 };
    float factors[MAX_HEAD_DIM / 2];
    const double pi = 3.14159265358979323846;
    const double base = (double)gi_hf_f32_or(b, "rope_theta|" GI_HF_ROPE("rope_theta"), 10000.0f);
    const double factor = read_factor(b);
    const double low = (double)gi_hf_f32_or(b, GI_HF_ROPE("low_freq_factor"), 1.0f);
    const double high = (double)gi_hf_f32_or(b, GI_HF_ROPE("high_freq_factor"), 4.0f);
    const double n_ctx = gi_hf_u32_or(b, GI_HF_ROPE("original_max_position_embeddings"), 8192);
    const bool is_sound =
        low > 0 && high > low && high < 1e6 && n_ctx > 0 && base > 0 && isfinite(base);
    if (head_dim > MAX_HEAD_DIM || !is_sound) {
        gi_hf_fail(
            b, GLINFER_STATUS_BAD_FILE,
            "config.json: invalid head_dim or factors of rope_scaling: heads of %u elements, "
            "factor %g, low_freq_factor %g, high_freq_factor %g",
            head_dim, factor, low, high);
        return;
    }
    for (uint32_t i = 0; i < head_dim / 2; i++) {
        const double wave = 2.0 * pi * pow(base, 2.0 * i / head_dim);
        const double smooth = (n_ctx / wave - low) / (high - low);
        factors[i] = wave < n_ctx / high  ? 1.0f
                     : wave > n_ctx / low ? (float)factor
                                          : (float)(1.0 / ((1.0 - smooth) / factor + smooth));
    }
    gi_hf_add_values(b, "rope_freqs.weight", factors, head_dim / 2);
}

// Adds the factor of sines and cosines where it is not that of the engine, 1 + ln(factor) / 10.
//   transformers, modeling_rope_utils.py, _compute_yarn_parameters
static void add_magnitude(struct gi_hf_build *b, double factor)
{
    const double slope = 0.1 * log(factor), usual = 1 + slope;
    double magnitude = usual;
    if (gi_hf_get(b, GI_HF_ROPE("mscale")) && gi_hf_get(b, GI_HF_ROPE("mscale_all_dim"))) {
        magnitude = (1 + slope * (double)gi_hf_f32(b, GI_HF_ROPE("mscale"))) /
                    (1 + slope * (double)gi_hf_f32(b, GI_HF_ROPE("mscale_all_dim")));
    }
    magnitude = (double)gi_hf_f32_or(b, GI_HF_ROPE("attention_factor"), (float)magnitude);
    if (!(magnitude > 0 && magnitude < 1e6)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: the factors of yarn in rope_scaling are invalid");
    } else if (fabs(magnitude / usual - 1) > 1e-5) {
        gi_hf_add_f32(b, "rope.scaling.attn_factor", (float)(magnitude / usual));
    }
}

static void add_yarn(struct gi_hf_build *b)
{
    const double factor = read_factor(b);
    gi_hf_add_text(b, "rope.scaling.type", "yarn");
    gi_hf_add_f32(b, "rope.scaling.factor", (float)factor);
    if (!gi_hf_get(b, GI_HF_ROPE("llama_4_scaling_beta"))) { // else of the family
        add_magnitude(b, factor);
    }
    if (!gi_hf_bool_or(b, GI_HF_ROPE("truncate"), true) && strcmp(b->arch, "gpt-oss") != 0) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: truncate of rope_scaling is false, only true is supported");
    }
    gi_hf_add_u32(b, "rope.scaling.original_context_length",
                  gi_hf_u32(b, GI_HF_ROPE("original_max_position_embeddings")));
    if (gi_hf_get(b, GI_HF_ROPE("attention_factor"))) {
        gi_hf_add_f32(b, "rope.scaling.yarn_attn_factor",
                      gi_hf_f32(b, GI_HF_ROPE("attention_factor")));
    }
    if (gi_hf_get(b, GI_HF_ROPE("beta_fast"))) {
        gi_hf_add_f32(b, "rope.scaling.yarn_beta_fast", gi_hf_f32(b, GI_HF_ROPE("beta_fast")));
    }
    if (gi_hf_get(b, GI_HF_ROPE("beta_slow"))) {
        gi_hf_add_f32(b, "rope.scaling.yarn_beta_slow", gi_hf_f32(b, GI_HF_ROPE("beta_slow")));
    }
}

static void add_rope(struct gi_hf_build *b, uint32_t head_dim)
{
    const char *type = gi_hf_text_or(b, GI_HF_ROPE_TYPE, "default");
    gi_hf_add_f32(b, "rope.freq_base",
                  gi_hf_f32_or(b, "rope_theta|" GI_HF_ROPE("rope_theta"), 10000.0f));
    if (strcmp(type, "linear") == 0) {
        gi_hf_add_text(b, "rope.scaling.type", type);
        gi_hf_add_f32(b, "rope.scaling.factor", (float)read_factor(b));
    } else if (strcmp(type, "yarn") == 0) {
        add_yarn(b);
    } else if (strcmp(type, "llama3") == 0) {
        add_llama3_factors(b, head_dim);
    } else if (!gi_hf_is_word(type, "default|dynamic")) { // dynamic stretches longer contexts alone
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: the RoPE scaling \"%.40s\" of this family is not supported, only "
                   "default, dynamic, linear, yarn and llama3",
                   type);
    }
}

void gi_hf_add_decoder(struct gi_hf_build *b)
{
    const uint32_t head_dim = gi_hf_head_dim(b);
    const uint32_t n_head = gi_hf_u32(b, "num_attention_heads|n_heads|n_head");
    gi_hf_add_u32(b, "block_count", gi_hf_u32(b, "num_hidden_layers|n_layer|n_layers"));
    gi_hf_add_u32(b, "context_length", gi_hf_context(b));
    gi_hf_add_u32(b, "embedding_length", gi_hf_u32(b, "hidden_size|n_embd|dim"));
    if (gi_hf_get(b, "intermediate_size|hidden_dim|n_inner")) {
        gi_hf_add_u32(b, "feed_forward_length",
                      gi_hf_u32(b, "intermediate_size|hidden_dim|n_inner"));
    }
    gi_hf_add_u32(b, "attention.head_count", n_head);
    gi_hf_add_u32(b, "attention.head_count_kv",
                  gi_hf_u32_or(b, "num_key_value_heads|n_kv_heads", n_head));
    gi_hf_add_u32(b, "attention.key_length", head_dim);
    gi_hf_add_u32(b, "attention.value_length", head_dim);
    gi_hf_add_f32(b, "attention.layer_norm_rms_epsilon",
                  gi_hf_f32_or(b, "rms_norm_eps|norm_epsilon|norm_eps", 1e-6f));
    gi_hf_add_u32(b, "vocab_size", gi_hf_u32(b, "vocab_size"));
    gi_hf_add_u32(b, "rope.dimension_count", head_dim);
    add_rope(b, head_dim);
}
