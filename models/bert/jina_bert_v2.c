// Jina Embeddings 2: BERT's layers with ALiBi in the place of positions, and a network with a gate
// whose activation is GELU.
#include "models/bert/bert_layer.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->n_rot = 0;
    if (gi_gguf_tensor_find(reader->gguf, "blk.0.attn_q_norm.weight") ||
        gi_gguf_tensor_find(reader->gguf, "blk.0.attn_norm_2.weight")) {
        return gi_error_set(reader->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: layers with norms of q and k, as the models for code have them, "
                            "are not supported",
                            gi_gguf_path(reader->gguf));
    }
    return gi_bert_hparams(reader, hparams) &&
           gi_hparams_f32(reader, "attention.max_alibi_bias", 8.0f, &hparams->max_alibi_bias);
}

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

const struct gi_model_family gi_model_family_jina_bert_v2 = {
    .name = "jina-bert-v2",
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_bert_norms),
    .output_norm = "token_embd_norm",
    .record_layer = gi_bert_record_layer,
};
