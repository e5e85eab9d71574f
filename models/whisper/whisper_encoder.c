// Whisper's encoder: two convolutions over the log-mel spectrogram, positions as vectors of a
// table, layers of attention without a mask. The layers after the last of these compute the keys
// and values that the decoder's cross-attention reads, from the norm of the encoder's output.
//   Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, section 2.2
#include "models/whisper/whisper.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_hparams_reader decoder = {reader->gguf, GI_WHISPER_DECODER, reader->err};
    const struct gi_hparams_reader common = {reader->gguf, "whisper", reader->err};
    const uint32_t n_own = hparams->n_layer;
    uint32_t n_cross, width, n_head;
    if (!gi_whisper_hparams(reader, hparams) ||
        !gi_hparams_u32(&decoder, "block_count", 0, &n_cross) ||
        !gi_hparams_u32(&decoder, "embedding_length", 0, &width) ||
        !gi_hparams_u32(&decoder, "attention.head_count", 0, &n_head) ||
        !gi_hparams_u32(&common, "mel_count", 0, &hparams->n_sound)) {
        return false;
    }
    if (hparams->n_embd % 32 != 0) { // rows that the second convolution reads follow each other
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "an encoder of %u columns is not supported, only multiples of 32",
                               hparams->n_embd);
    }
    if (n_cross == 0 || n_cross > GI_MAX_LAYERS - n_own || width != hparams->n_embd ||
        n_head != hparams->n_head || hparams->n_sound == 0) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "the encoder (%u columns, %u of sound, %u heads) does not suit a "
                               "decoder of %u layers, %u columns and %u heads",
                               hparams->n_embd, hparams->n_sound, hparams->n_head, n_cross, width,
                               n_head);
    }
    hparams->is_encoder = true;
    hparams->n_layer += n_cross;
    for (uint32_t i = n_own; i < hparams->n_layer; i++) {
        hparams->layer_kinds[i] = GI_LAYER_KEYS;
    }
    return true;
}

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

// Keys and values without queries.
static const struct gi_weight_spec key_weights[] = {
    {.slot = GI_SLOT_QKV,
     .name = "attn_kv",
     .order = GI_WEIGHT_ORDER_QKV,
     .cols = GI_DIM_EMBD,
     .sources = {{"blk.%u.attn_k", GI_DIM_KV}, {"blk.%u.attn_v", GI_DIM_KV}},
     .next_norm = GI_NORM_NONE},
};

static const struct gi_norm_spec key_norms[] = {
    {GI_NORM_ATTN, "output_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "output_norm", GI_DIM_EMBD},
};

static void record_keys(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv(graph, layer, 0);
}

static const struct gi_layer_tables key_layers = {
    GI_WEIGHTS(key_weights),
    GI_NORMS(key_norms),
    .record_layer = record_keys,
};

const struct gi_model_family gi_model_family_whisper_encoder = {
    .name = GI_WHISPER_ENCODER,
    .activation = GI_ACTIVATION_GELU_ERF,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
    .others = &key_layers,
};
