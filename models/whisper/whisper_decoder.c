// Whisper's decoder: positions as vectors of a table; each of its layers is two here, one of
// self-attention and one of cross-attention, over keys and values that the encoder's tower
// computes, with the network.
#include "models/whisper/whisper.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    if (hparams->n_layer > GI_MAX_LAYERS / 2) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%u layers of the decoder, expected at most %d",
                               hparams->n_layer, GI_MAX_LAYERS / 2);
    }
    const struct gi_hparams_reader common = {reader->gguf, "whisper", reader->err};
    uint32_t n_vocab;
    if (!gi_hparams_u32(&common, "vocab_size", 0, &n_vocab)) {
        return false;
    }
    if (n_vocab != hparams->n_vocab_rows) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "whisper.vocab_size is %u, but token_embd.weight has %u rows",
                               n_vocab, hparams->n_vocab_rows);
    }
    hparams->n_layer *= 2;
    for (uint32_t i = 1; i < hparams->n_layer; i += 2) {
        hparams->layer_kinds[i] = GI_LAYER_CROSS;
    }
    hparams->n_vocab = hparams->n_vocab_rows; // the file does not spell its special tokens
    return gi_whisper_hparams(reader, hparams);
}

static const struct gi_weight_spec self_weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NEXT),
};

static const struct gi_norm_spec self_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
};

static const struct gi_weight_spec cross_weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_layer_tables cross_layers = {
    GI_WEIGHTS(cross_weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
};

const struct gi_model_family gi_model_family_whisper_decoder = {
    .name = GI_WHISPER_DECODER,
    .activation = GI_ACTIVATION_GELU_ERF,
    .read_hparams = read_hparams,
    GI_WEIGHTS(self_weights),
    GI_NORMS(self_norms),
    .record_layer = gi_graph_attention_block,
    .others = &cross_layers,
};
