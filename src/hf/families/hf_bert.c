// Encoders: BERT and ModernBERT.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_sentence.h"

#define BOTH(from, to)                                                                             \
    {from ".weight", to ".weight", GI_HF_NONE},                                                    \
    {                                                                                              \
        from ".bias", to ".bias", GI_HF_NONE                                                       \
    }
// Older files call gains gamma and shifts beta.
#define NORM(from, to)                                                                             \
    BOTH(from, to), {from ".gamma", to ".weight", GI_HF_NONE},                                     \
    {                                                                                              \
        from ".beta", to ".bias", GI_HF_NONE                                                       \
    }
#define LAYER "encoder.layer.%."

static const struct gi_hf_row bert_rows[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight", GI_HF_NONE},
    {"embeddings.position_embeddings.weight", "position_embd.weight", GI_HF_NONE},
    {"embeddings.token_type_embeddings.weight", "token_types.weight", GI_HF_NONE},
    NORM("embeddings.LayerNorm", "token_embd_norm"),
    BOTH(LAYER "attention.self.query", "blk.%.attn_q"),
    BOTH(LAYER "attention.self.key", "blk.%.attn_k"),
    BOTH(LAYER "attention.self.value", "blk.%.attn_v"),
    BOTH(LAYER "attention.output.dense", "blk.%.attn_output"),
    NORM(LAYER "attention.output.LayerNorm", "blk.%.attn_output_norm"),
    BOTH(LAYER "intermediate.dense", "blk.%.ffn_up"),
    BOTH(LAYER "output.dense", "blk.%.ffn_down"),
    NORM(LAYER "output.LayerNorm", "blk.%.layer_output_norm"),
};

static void add_encoder(struct gi_hf_build *b, const char *epsilon)
{
    gi_hf_add_u32(b, "block_count", gi_hf_layer_count(b));
    gi_hf_add_u32(b, "context_length", gi_hf_u32(b, "max_position_embeddings"));
    gi_hf_add_u32(b, "embedding_length", gi_hf_u32(b, "hidden_size"));
    gi_hf_add_u32(b, "feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    gi_hf_add_u32(b, "attention.head_count", gi_hf_u32(b, "num_attention_heads"));
    gi_hf_add_f32(b, "attention.layer_norm_epsilon", gi_hf_f32(b, epsilon));
    gi_hf_add_bool(b, "attention.causal", false);
    gi_hf_add_pooling(b);
    gi_hf_add_labels(b);
}

static const struct gi_hf_row bert_classifier_rows[] = {
    BOTH("pooler.dense", "cls"),
    BOTH("classifier", "cls.output"),
};

// The pooler is a part of classifiers alone.
static void build_bert(struct gi_hf_build *b)
{
    add_encoder(b, "layer_norm_eps");
    GI_HF_ADD_ROWS(b, bert_rows);
    if (gi_hf_find(b, "classifier.weight")) {
        GI_HF_ADD_ROWS(b, bert_classifier_rows);
    } else {
        gi_hf_ignore(b, "pooler.");
    }
    gi_hf_ignore(b, "cls."); // the heads that it was trained with
}

//-- ModernBERT ------------------------------------------------------------------------------------

static const struct gi_hf_row modern_rows[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight", GI_HF_NONE},
    {"embeddings.norm.weight", "token_embd_norm.weight", GI_HF_NONE},
    {"layers.%.attn_norm.weight", "blk.%.attn_norm.weight", GI_HF_NONE},
    {"layers.%.attn.Wqkv.weight", "blk.%.attn_qkv.weight", GI_HF_NONE},
    {"layers.%.attn.Wo.weight", "blk.%.attn_output.weight", GI_HF_NONE},
    {"layers.%.mlp_norm.weight", "blk.%.ffn_norm.weight", GI_HF_NONE},
    {"layers.%.mlp.Wi.weight", "blk.%.ffn_up.weight", GI_HF_NONE},
    {"layers.%.mlp.Wo.weight", "blk.%.ffn_down.weight", GI_HF_NONE},
    {"final_norm.weight", "output_norm.weight", GI_HF_NONE},
};
static const struct gi_hf_row modern_classifier_rows[] = {
    {"head.dense.weight", "cls.weight", GI_HF_NONE},
    {"head.norm.weight", "cls.norm.weight", GI_HF_NONE},
    BOTH("classifier", "cls.output"),
};

static const struct gi_hf_fixed modern_classifier_fixed[] = {{"classifier_activation", "gelu"},
                                                             {NULL, NULL}};

static void build_modern(struct gi_hf_build *b)
{
    const uint32_t period = gi_hf_u32(b, "global_attn_every_n_layers");
    const uint32_t n_window = gi_hf_u32(b, "local_attention");
    if (period == 0 || n_window == 0) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: global_attn_every_n_layers is %u and local_attention %u, expected "
                   "positive numbers",
                   period, n_window);
        return;
    }
    const float base = gi_hf_rope_base(b, 160000.0f);
    const bool has_one =
        cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(b->config, "local_rope_theta"));
    add_encoder(b, "norm_eps");
    gi_hf_add_u32(b, "vocab_size", gi_hf_u32(b, "vocab_size"));
    gi_hf_add_f32(b, "rope.freq_base", base);
    gi_hf_add_f32(b, "rope.freq_base_swa", gi_hf_window_base(b, has_one ? base : 10000.0f));
    gi_hf_add_text(b, "rope.scaling.type", "none");
    gi_hf_add_u32(b, "attention.sliding_window", n_window);
    if (!gi_hf_add_windows(b, period, period, true)) {
        gi_hf_add_u32(b, "attention.sliding_window_pattern", period);
    }
    gi_hf_add_text(b, "hidden_activation", gi_hf_text_or(b, "hidden_activation", "gelu"));
    GI_HF_ADD_ROWS(b, modern_rows);
    if (gi_hf_find(b, "classifier.weight")) {
        gi_hf_check_fixed(b, modern_classifier_fixed);
        GI_HF_ADD_ROWS(b, modern_classifier_rows);
    } else { // the head that guesses masked words
        gi_hf_ignore(b, "head.");
        gi_hf_ignore(b, "decoder.");
    }
}

#define BERT_DEFAULTS "{\"layer_norm_eps\":1e-12,\"max_position_embeddings\":512}"
#define MODERN_DEFAULTS                                                                            \
    "{\"global_attn_every_n_layers\":3,\"local_attention\":128,"                                   \
    "\"max_position_embeddings\":8192,\"norm_eps\":1e-5}"

static const struct gi_hf_fixed bert_fixed[] = {
    {"hidden_act", "gelu|gelu_new|gelu_pytorch_tanh"},
    {"position_embedding_type", "absolute"},
    {"is_decoder", "false"},
    {"add_cross_attention", "false"},
    {NULL, NULL},
};
static const struct gi_hf_fixed modern_fixed[] = {
    {"norm_bias", "false"}, {"mlp_bias", "false"},   GI_HF_NO_BIASES, GI_HF_WINDOWS,
    GI_HF_PLAIN_ROPE,       GI_HF_PLAIN_WINDOW_ROPE, {NULL, NULL},
};

const struct gi_hf_family gi_hf_bert_families[] = {
    {"bert", NULL, "bert", build_bert, BERT_DEFAULTS, bert_fixed},
    {"modernbert", NULL, "modern-bert", build_modern, MODERN_DEFAULTS, modern_fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
