// ModernBERT: layernorms without shifts before the blocks and after the last, a gated network and
// no biases. Two layers of three have a window and a different rotary base. The first layer's
// attention reads the normed embeddings without another norm.
#include "models/decoder_weights.h"

static bool read_activation(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_gguf_string name;
    if (!gi_hparams_string(reader, "hidden_activation", &name)) {
        return false;
    }
    if (gi_hparams_is_word(name, "silu") || gi_hparams_is_word(name, "swish") ||
        gi_hparams_is_word(name, "swiglu")) {
        hparams->activation = GI_ACTIVATION_SILU;
        return true;
    }
    return !name.data || gi_hparams_is_word(name, "gelu") || gi_hparams_is_word(name, "geglu") ||
           GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "the activation \"%.*s\" is not supported, only gelu and silu",
                           (int)(name.size < 64 ? name.size : 64), name.data);
}

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->is_encoder = true;
    hparams->embed_norm = GI_EMBED_NORM_FIRST;
    hparams->begins_unwindowed = true;
    hparams->has_window_rope = true;
    hparams->rank_has_gelu = true;
    if (hparams->rank_pooling == GLINFER_POOLING_DEFAULT) {
        hparams->rank_pooling = GLINFER_POOLING_MEAN;
    }
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    if (gi_gguf_tensor_find(reader->gguf, "blk.0.attn_norm.weight")) {
        return gi_error_set(reader->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: a norm before the first layer's attention is not supported",
                            gi_gguf_path(reader->gguf));
    }
    return gi_layernorm_hparams(reader, hparams) && read_activation(reader, hparams) &&
           gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) &&
           gi_hparams_window_period(reader, 3, hparams) &&
           gi_hparams_f32(reader, "rope.freq_base_swa", 10000.0f, &hparams->window_rope.base);
}

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_up", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, NULL, GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_SHIFT, NULL, GI_DIM_EMBD},
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    const enum gi_norm before = layer == 0 ? GI_NORM_NONE : GI_NORM_ATTN;
    gi_graph_qkv_rows(graph, layer, before, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

const struct gi_model_family gi_model_family_modern_bert = {
    .name = "modern-bert",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
    .first_norm = "token_embd_norm",
};
