#include "engine/session_layout.h"

static uint32_t round_up(uint32_t n, uint32_t step)
{
    return (n + step - 1) / step * step;
}

// A matrix of activations, a row a token of the batch.
static uint64_t lay_out_rows(struct gi_rows *rows, const struct gi_session_shape *shape,
                             uint32_t width)
{
    rows->stride = round_up(width, GI_QUANT_BLOCK);
    return (uint64_t)rows->stride * shape->n_batch * sizeof(float);
}

static void lay_out_batch(struct gi_graph *graph, const struct gi_session_shape *shape,
                          uint64_t sizes[GI_SESSION_RANGE_COUNT])
{
    const struct gi_model_facts *facts = graph->facts;
    const uint32_t n_q = facts->n_head * facts->head_dim;
    sizes[GI_SESSION_TOKENS] = (uint64_t)shape->n_batch * sizeof(uint32_t);
    sizes[GI_SESSION_X] = lay_out_rows(&graph->x, shape, facts->n_embd);
    sizes[GI_SESSION_NORM] = lay_out_rows(&graph->norm, shape, facts->n_embd);
    sizes[GI_SESSION_QKV] = lay_out_rows(&graph->qkv, shape, graph->qkv_layout.n_rows);
    sizes[GI_SESSION_Q] = lay_out_rows(&graph->q, shape, n_q);
    sizes[GI_SESSION_ATTN] = lay_out_rows(&graph->attn, shape, n_q);
    sizes[GI_SESSION_FFN_GATE_UP] = lay_out_rows(&graph->ffn_gate_up, shape, shape->n_gate_up);
    sizes[GI_SESSION_FFN_ACT_ROWS] = lay_out_rows(&graph->ffn_act_rows, shape, facts->n_ff);
}

void gi_session_layout(struct gi_graph *graph, const struct gi_session_shape *shape,
                       struct gi_kv_layer *kv, uint64_t *kv_size,
                       uint64_t sizes[GI_SESSION_RANGE_COUNT])
{
    const struct gi_model_facts *facts = graph->facts;
    const uint64_t n_norm = graph->norm_layout.size;
    *kv_size = gi_kv_layer_layout(kv, facts->n_head, facts->n_kv_head, facts->head_dim,
                                  shape->n_ctx, shape->is_k_f32, shape->is_v_f32);
    sizes[GI_SESSION_STATE] = sizeof(struct gi_step_state);
    sizes[GI_SESSION_COUNTS] = GI_MAX_SLOTS * sizeof(struct gi_grid_slot);
    sizes[GI_SESSION_RING] = GI_RING_SLOTS * sizeof(struct gi_ring_entry);
    sizes[GI_SESSION_STREAM] =
        gi_stream_layout(&graph->stream, facts->n_embd, facts->n_rot, facts->norm_eps);
    sizes[GI_SESSION_ATTENTION] = gi_attention_scratch_layout(&graph->attention, kv);
    sizes[GI_SESSION_FFN_ACT] = (uint64_t)round_up(facts->n_ff, GI_QUANT_BLOCK) * sizeof(float);
    graph->row.stride = round_up(facts->n_embd, 2 * GI_TILE_ROWS);
    if (graph->row.stride < graph->qkv_layout.n_rows) {
        graph->row.stride = graph->qkv_layout.n_rows;
    }
    sizes[GI_SESSION_ROW] = (uint64_t)graph->row.stride * sizeof(float);
    sizes[GI_SESSION_LOGITS] = gi_logits_layout(&graph->logits, facts->n_vocab);
    lay_out_batch(graph, shape, sizes);
    graph->vectors.rope = (uint32_t)n_norm;
    graph->rope = (struct gi_rope){.table = (uint32_t)n_norm, .n_rot = facts->n_rot};
    graph->window_rope = graph->rope;
    uint64_t end = n_norm + (uint64_t)shape->n_ctx * facts->n_rot;
    if (facts->has_window_rope) {
        graph->window_rope.table = (uint32_t)end;
        end += (uint64_t)shape->n_ctx * facts->n_rot;
    }
    sizes[GI_SESSION_VECTORS] = end * sizeof(float);
}
