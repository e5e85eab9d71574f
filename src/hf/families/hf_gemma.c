// Gemma 2, 3 and 4, and EmbeddingGemma. The norms of Gemma 2 and 3 are stored as their distance
// from 1.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"
#include "hf/families/hf_sentence.h"

#define NORMS(change)                                                                              \
    {"layers.%.input_layernorm.weight", "blk.%.attn_norm.weight", change},                         \
        {"layers.%.post_attention_layernorm.weight", "blk.%.post_attention_norm.weight", change},  \
        {"layers.%.pre_feedforward_layernorm.weight", "blk.%.ffn_norm.weight", change},            \
        {"layers.%.post_feedforward_layernorm.weight", "blk.%.post_ffw_norm.weight", change},      \
        GI_HF_HEAD_NORMS(change),                                                                  \
    {                                                                                              \
        "norm.weight", "output_norm.weight", change                                                \
    }

static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    NORMS(GI_HF_PLUS_ONE),
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    GI_HF_NETWORK,
};

// The output is the embedding; some files have it twice.
static void add_rows(struct gi_hf_build *b)
{
    gi_hf_ignore(b, "lm_head.weight");
    GI_HF_ADD_ROWS(b, rows);
}

// Fails unless scores are divided by the root of what the engine takes: of the size of heads, in
// the model of n_layer layers of n_embd / n_head.
static void check_scale(struct gi_hf_build *b, uint32_t n_layer)
{
    const uint32_t n_head = gi_hf_u32(b, "num_attention_heads"),
                   n_embd = gi_hf_u32(b, "hidden_size");
    const uint32_t dim = n_head > 0 && gi_hf_u32(b, "num_hidden_layers") == n_layer
                             ? n_embd / n_head
                             : gi_hf_head_dim(b);
    const float scalar = gi_hf_f32_or(b, "query_pre_attn_scalar", 256);
    if (scalar != (float)dim) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: query_pre_attn_scalar is %g, only %u is supported for this model",
                   (double)scalar, dim);
    }
}

// A key that is null switches a cap off, which the engine does not.
static void add_cap(struct gi_hf_build *b, const char *key)
{
    if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(b->config, key))) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: %s is null, only a number is supported", key);
    }
    gi_hf_add_f32(b, key, gi_hf_f32(b, key));
}

static void build_gemma2(struct gi_hf_build *b)
{
    enum { N_LAYER_27B = 46 };
    check_scale(b, N_LAYER_27B);
    gi_hf_add_decoder(b);
    add_cap(b, "attn_logit_softcapping");
    add_cap(b, "final_logit_softcapping");
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32(b, "sliding_window"));
    gi_hf_add_windows(b, 2, 2, false);
    add_rows(b);
}

static void add_gemma3(struct gi_hf_build *b)
{
    enum { N_LAYER_27B = 62, PERIOD = 6 };
    check_scale(b, N_LAYER_27B);
    gi_hf_add_decoder(b);
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32(b, "sliding_window"));
    gi_hf_add_f32(b, "rope.freq_base_swa", gi_hf_window_base(b, 10000.0f));
    gi_hf_add_windows(b, gi_hf_u32_or(b, "sliding_window_pattern|_sliding_window_pattern", PERIOD),
                      PERIOD, false);
    add_rows(b);
}

static void build_gemma3(struct gi_hf_build *b)
{
    const float cap = gi_hf_f32_or(b, "final_logit_softcapping", 0.0f);
    add_gemma3(b);
    if (cap > 0.0f) {
        gi_hf_add_f32(b, "final_logit_softcapping", cap);
    }
}

static void build_embedding(struct gi_hf_build *b)
{
    add_gemma3(b);
    gi_hf_add_pooling(b);
    gi_hf_add_dense(b);
}

//-- Gemma 4 ---------------------------------------------------------------------------------------

static const struct gi_hf_row gemma4_rows[] = {
    GI_HF_EMBEDDING,
    NORMS(GI_HF_NONE),
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    GI_HF_NETWORK,
    {"layers.%.layer_scalar", "blk.%.layer_output_scale.weight", GI_HF_NONE},
    {"layers.%.per_layer_input_gate.weight", "blk.%.inp_gate.weight", GI_HF_NONE},
    {"layers.%.per_layer_projection.weight", "blk.%.proj.weight", GI_HF_NONE},
    {"layers.%.post_per_layer_input_norm.weight", "blk.%.post_norm.weight", GI_HF_NONE},
    {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight", GI_HF_NONE},
    {"per_layer_model_projection.weight", "per_layer_model_proj.weight", GI_HF_NONE},
    {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight", GI_HF_NONE},
};

// Returns a size of layers without a window. Newer files have an object for each of these, of the
// sizes that differ from those of other layers.
static uint32_t find_global(struct gi_hf_build *b, const char *key, const char *layer_key,
                            uint32_t fallback)
{
    const cJSON *layers = gi_hf_get(b, "per_layer_config"), *layer = layers ? layers->child : NULL;
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(layer, layer_key);
    uint64_t n = 0;
    const bool is_sound = gi_hf_json_count(value, &n) && n <= UINT16_MAX;
    return gi_hf_u32_or(b, key, is_sound ? (uint32_t)n : fallback);
}

#define GLOBAL_DIM(b) find_global(b, "global_head_dim", "head_dim", 512)

// Adds the sizes of heads in layers with a window and without one.
static void add_gemma4_heads(struct gi_hf_build *b, const struct gi_hf_layers *windowed)
{
    const uint32_t n_kv = gi_hf_u32(b, "num_key_value_heads");
    const uint32_t n_global =
        find_global(b, "num_global_key_value_heads", "num_key_value_heads", n_kv);
    const uint32_t dim = gi_hf_u32(b, "head_dim"), global_dim = GLOBAL_DIM(b);
    if (n_kv == n_global) {
        gi_hf_add_u32(b, "attention.head_count_kv", n_kv);
    } else {
        gi_hf_add_layer_u32s(b, "attention.head_count_kv", windowed, n_kv, n_global);
    }
    gi_hf_add_head_dim(b, global_dim);
    gi_hf_add_u32(b, "attention.key_length_swa", dim);
    gi_hf_add_u32(b, "attention.value_length_swa", dim);
    gi_hf_add_u32(b, "rope.dimension_count", global_dim);
    gi_hf_add_u32(b, "rope.dimension_count_swa", dim);
}

// Networks of layers that read the keys of earlier ones may be twice as wide.
static void add_gemma4_widths(struct gi_hf_build *b, uint32_t n_layer, uint32_t n_shared)
{
    const uint32_t n_ff = gi_hf_u32(b, "intermediate_size");
    if (!gi_hf_bool_or(b, "use_double_wide_mlp", false)) {
        gi_hf_add_u32(b, "feed_forward_length", n_ff);
        return;
    }
    struct gi_hf_layers own = {.count = n_layer};
    for (uint32_t i = 0; i < n_layer; i++) {
        own.is[i] = i + n_shared < n_layer;
    }
    gi_hf_add_layer_u32s(b, "feed_forward_length", &own, n_ff, 2 * n_ff);
}

// In layers without a window only the first pairs of a head turn: the frequencies of the others are
// divided by a number that stops them.
static void add_gemma4_factors(struct gi_hf_build *b)
{
    enum { MAX_PAIRS = 512 };
    const float still = 1e30f;
    float factors[MAX_PAIRS];
    const float part =
        gi_hf_f32_or(b, "rope_parameters.full_attention.partial_rotary_factor", 0.25f);
    const uint32_t dim = GLOBAL_DIM(b), n_pair = dim / 2;
    if (n_pair == 0 || n_pair > MAX_PAIRS || !(part >= 0.0f && part <= 1.0f)) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: a global_head_dim of %u and a partial_rotary_factor of %g are not "
                   "supported",
                   dim, (double)part);
        return;
    }
    for (uint32_t i = 0; i < n_pair; i++) {
        factors[i] = i < (uint32_t)((float)dim * part / 2.0f) ? 1.0f : still;
    }
    gi_hf_add_values(b, "rope_freqs.weight", factors, n_pair);
}

static void build_gemma4(struct gi_hf_build *b)
{
    struct gi_hf_layers windowed;
    if (!gi_hf_read_layers(b, "sliding_attention", &windowed)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "config.json: the key layer_types is missing");
        return;
    }
    const uint32_t n_shared = gi_hf_u32_or(b, "num_kv_shared_layers", 0);
    const float cap = gi_hf_f32_or(b, "final_logit_softcapping", 0.0f);
    gi_hf_add_sizes(b);
    gi_hf_add_u32(b, "context_length", gi_hf_u32(b, "max_position_embeddings"));
    add_gemma4_heads(b, &windowed);
    add_gemma4_widths(b, windowed.count, n_shared);
    gi_hf_add_f32(b, "rope.freq_base", gi_hf_rope_base(b, 1000000.0f));
    gi_hf_add_f32(b, "rope.freq_base_swa", gi_hf_window_base(b, 10000.0f));
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32(b, "sliding_window"));
    gi_hf_add_bools(b, "attention.sliding_window_pattern", windowed.is, windowed.count);
    gi_hf_add_u32(b, "attention.shared_kv_layers", n_shared);
    gi_hf_add_u32(b, "embedding_length_per_layer_input",
                  gi_hf_u32_or(b, "hidden_size_per_layer_input", 0));
    if (cap > 0.0f) {
        gi_hf_add_f32(b, "final_logit_softcapping", cap);
    }
    add_gemma4_factors(b);
    gi_hf_ignore(b, "lm_head.weight");
    GI_HF_ADD_ROWS(b, gemma4_rows);
}

#define GEMMA2_DEFAULTS                                                                            \
    "{\"attn_logit_softcapping\":50,\"final_logit_softcapping\":30,\"head_dim\":256,"              \
    "\"max_position_embeddings\":8192,\"num_attention_heads\":8,\"num_key_value_heads\":4,"        \
    "\"rms_norm_eps\":1e-6,\"sliding_window\":4096}"
#define GEMMA3_KEYS                                                                                \
    "\"head_dim\":256,\"max_position_embeddings\":131072,\"num_attention_heads\":8,"               \
    "\"num_key_value_heads\":4,\"rms_norm_eps\":1e-6,\"rope_theta\":1000000,"                      \
    "\"sliding_window\":4096,\"vocab_size\":262208"
#define GEMMA3_DEFAULTS    "{" GEMMA3_KEYS "}"
#define EMBEDDING_DEFAULTS "{" GEMMA3_KEYS ",\"use_bidirectional_attention\":false}"
#define GEMMA4_DEFAULTS                                                                            \
    "{\"head_dim\":256,\"max_position_embeddings\":131072,"                                        \
    "\"num_attention_heads\":8,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-6,"                   \
    "\"sliding_window\":512,\"vocab_size\":262144}"

#define FIXED                                                                                      \
    GI_HF_GELU_TANH, GI_HF_NO_BIASES, GI_HF_WINDOWS, GI_HF_PLAIN_WINDOW_ROPE,                      \
    {                                                                                              \
        "tie_word_embeddings", "true"                                                              \
    }

static const struct gi_hf_fixed gemma_fixed[] = {
    FIXED, GI_HF_WHOLE_ROPE, {"use_bidirectional_attention", "false"}, {NULL, NULL}};
static const struct gi_hf_fixed gemma3_fixed[] = {FIXED,
                                                  GI_HF_WHOLE_ROPE,
                                                  {"use_bidirectional_attention", "false"},
                                                  {"attn_logit_softcapping", ""},
                                                  {NULL, NULL}};
static const struct gi_hf_fixed embedding_fixed[] = {FIXED,
                                                     GI_HF_WHOLE_ROPE,
                                                     {"use_bidirectional_attention", "true"},
                                                     {"attn_logit_softcapping", ""},
                                                     {"final_logit_softcapping", ""},
                                                     {NULL, NULL}};
static const struct gi_hf_fixed gemma4_fixed[] = {
    FIXED,
    {"use_bidirectional_attention", "vision"},
    {"rope_parameters.full_attention.rope_type", "proportional"},
    {"enable_moe_block", "false"},
    {NULL, NULL},
};

const struct gi_hf_family gi_hf_gemma_families[] = {
    {"gemma2", NULL, "gemma2", build_gemma2, GEMMA2_DEFAULTS, gemma_fixed},
    {"gemma3_text", "Gemma3TextModel", "gemma-embedding", build_embedding, EMBEDDING_DEFAULTS,
     embedding_fixed},
    {"gemma3_text", NULL, "gemma3", build_gemma3, GEMMA3_DEFAULTS, gemma3_fixed},
    {"gemma3", NULL, "gemma3", build_gemma3, GEMMA3_DEFAULTS, gemma3_fixed},
    {"gemma4_text", NULL, "gemma4", build_gemma4, GEMMA4_DEFAULTS, gemma4_fixed},
    {"gemma4", NULL, "gemma4", build_gemma4, GEMMA4_DEFAULTS, gemma4_fixed},
    {"gemma4_unified", NULL, "gemma4", build_gemma4, GEMMA4_DEFAULTS, gemma4_fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
