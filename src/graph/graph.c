#include "graph/graph.h"

static uint32_t round_up(uint32_t n, uint32_t step)
{
    return (n + step - 1) / step * step;
}

uint32_t gi_dim_size(const struct gi_model_facts *facts, enum gi_dim dim)
{
    switch (dim) {
    case GI_DIM_EMBD:
        return facts->n_embd;
    case GI_DIM_Q:
        return facts->n_head * facts->head_dim;
    case GI_DIM_KV:
        return facts->n_kv_head * facts->head_dim;
    case GI_DIM_FF:
        return facts->n_ff;
    case GI_DIM_VOCAB:
        return facts->n_vocab;
    case GI_DIM_NONE:
        break;
    }
    return 0;
}

uint32_t gi_graph_norm_offset(const struct gi_model_facts *facts, uint32_t layer, enum gi_norm norm)
{
    return (layer * GI_NORM_COUNT + (uint32_t)norm) * round_up(facts->n_embd, GI_QUANT_BLOCK);
}

uint32_t gi_graph_norm_total(const struct gi_model_facts *facts)
{
    return gi_graph_norm_offset(facts, facts->n_layer, GI_NORM_ATTN) +
           round_up(facts->n_embd, GI_QUANT_BLOCK);
}

static const struct gi_weight *layer_weight(const struct gi_graph *graph, uint32_t layer,
                                            enum gi_slot slot)
{
    return &graph->weights.layers[layer * GI_SLOT_COUNT + (uint32_t)slot];
}

static bool record_norm(struct gi_graph *graph, const char *label, uint32_t layer,
                        enum gi_norm norm, struct glinfer_error *err)
{
    const struct gi_model_facts *facts = graph->facts;
    return gi_op_rmsnorm(&graph->recorder, label, &graph->x, facts->n_embd, &graph->vectors,
                         gi_graph_norm_offset(facts, layer, norm), facts->norm_eps, &graph->norm,
                         err);
}

//-- attention -----------------------------------------------------------------------------------

static bool attention_step(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_model_facts *facts = graph->facts;
    const struct gi_kv_layer *kv = &graph->kv_cache[layer];
    return gi_op_gemv_qkv(recorder, "attn_qkv", layer_weight(graph, layer, GI_SLOT_QKV),
                          &graph->qkv_layout, &graph->stream, kv, err) &&
           gi_op_attention(recorder, "attention", kv, facts->attention_scale, &graph->attention,
                           err) &&
           gi_op_gemv_residual(recorder, "attn_out", layer_weight(graph, layer, GI_SLOT_OUT),
                               graph->attention.range, 0, facts->residual_scale, &graph->stream,
                               err);
}

static bool attention_batch(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_model_facts *facts = graph->facts;
    const struct gi_kv_layer *kv = &graph->kv_cache[layer];
    return record_norm(graph, "attn_norm", layer, GI_NORM_ATTN, err) &&
           gi_op_gemm(recorder, "attn_qkv", layer_weight(graph, layer, GI_SLOT_QKV), &graph->norm,
                      false, 1.0f, &graph->qkv, err) &&
           gi_op_rope_kv(recorder, "rope_kv", &graph->qkv_layout, &graph->qkv, &graph->vectors,
                         facts->n_rot, kv, &graph->q, err) &&
           gi_op_attention_batch(recorder, "attention", kv, facts->attention_scale, &graph->q,
                                 &graph->attn, err) &&
           gi_op_gemm(recorder, "attn_out", layer_weight(graph, layer, GI_SLOT_OUT), &graph->attn,
                      true, facts->residual_scale, &graph->x, err);
}

bool gi_graph_attention_block(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return graph->is_batch ? attention_batch(graph, layer, err) : attention_step(graph, layer, err);
}

//-- feed-forward --------------------------------------------------------------------------------

static bool ffn_step(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_model_facts *facts = graph->facts;
    return gi_op_gemv_swiglu(recorder, "ffn_gate_up", layer_weight(graph, layer, GI_SLOT_GATE_UP),
                             facts->n_ff, &graph->stream, graph->ffn_act, err) &&
           gi_op_gemv_residual(recorder, "ffn_down", layer_weight(graph, layer, GI_SLOT_DOWN),
                               graph->ffn_act, 0, facts->residual_scale, &graph->stream, err);
}

static bool ffn_batch(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_model_facts *facts = graph->facts;
    const struct gi_weight *gate_up = layer_weight(graph, layer, GI_SLOT_GATE_UP);
    return record_norm(graph, "ffn_norm", layer, GI_NORM_FFN, err) &&
           gi_op_gemm(recorder, "ffn_gate_up", gate_up, &graph->norm, false, 1.0f,
                      &graph->ffn_gate_up, err) &&
           gi_op_swiglu(recorder, "ffn_act", gate_up, &graph->ffn_gate_up, facts->n_ff,
                        &graph->ffn_act_rows, err) &&
           gi_op_gemm(recorder, "ffn_down", layer_weight(graph, layer, GI_SLOT_DOWN),
                      &graph->ffn_act_rows, true, facts->residual_scale, &graph->x, err);
}

bool gi_graph_ffn_block(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return graph->is_batch ? ffn_batch(graph, layer, err) : ffn_step(graph, layer, err);
}

//-- both ends -----------------------------------------------------------------------------------

bool gi_graph_embed(struct gi_graph *graph, struct glinfer_error *err)
{
    const struct gi_model_facts *facts = graph->facts;
    if (graph->is_batch) {
        return gi_op_embed_batch(&graph->recorder, graph->weights.embed, graph->tokens,
                                 facts->embed_scale, &graph->x, err);
    }
    return gi_op_embed_token(&graph->recorder, graph->weights.embed, &graph->vectors,
                             gi_graph_norm_offset(facts, 0, GI_NORM_ATTN), facts->embed_scale,
                             &graph->stream, err);
}

bool gi_graph_output(struct gi_graph *graph, struct glinfer_error *err)
{
    const struct gi_model_facts *facts = graph->facts;
    if (graph->is_batch &&
        !gi_op_last_row(&graph->recorder, &graph->x, &graph->vectors,
                        gi_graph_norm_offset(facts, facts->n_layer, GI_NORM_ATTN), &graph->stream,
                        err)) {
        return false;
    }
    return gi_op_gemv_vocab(&graph->recorder, "output", graph->weights.output, &graph->stream,
                            facts->logit_scale, &graph->logits, err);
}
