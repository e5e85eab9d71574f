#include "models/bert/bert_layer.h"

const struct gi_weight_spec gi_bert_weights[4] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

const struct gi_norm_spec gi_bert_norms[4] = {
    {GI_NORM_ATTN_POST, "blk.%u.attn_output_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_output_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.layer_output_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_SHIFT, "blk.%u.layer_output_norm", GI_DIM_EMBD},
};

bool gi_bert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->is_encoder = true;
    hparams->embed_norm = GI_EMBED_NORM_OUTPUT;
    hparams->has_positions = gi_gguf_tensor_find(reader->gguf, "position_embd.weight") ||
                             gi_gguf_tensor_find(reader->gguf, "token_types.weight");
    return gi_layernorm_hparams(reader, hparams);
}

void gi_bert_record_attention(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv(graph, layer, graph->hparams->n_rot);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_layernorm(graph, "attn_out_norm", layer, GI_NORM_ATTN_POST, GI_NORM_ATTN_SHIFT);
}

void gi_bert_record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_bert_record_attention(graph, layer);
    gi_graph_ffn_up(graph, layer, GI_NORM_NONE);
    gi_graph_ffn_down(graph, layer);
    gi_graph_layernorm(graph, "ffn_down_norm", layer, GI_NORM_FFN_POST, GI_NORM_FFN_SHIFT);
}
