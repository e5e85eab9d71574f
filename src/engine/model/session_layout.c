#include "engine/model/session_layout.h"

#include "base/round.h"
#include "gpu/dispatch/step_state.h"
#include "ops/record/slot_array.h"

uint32_t gi_default_context(const struct gi_hparams *hparams)
{
    return hparams->n_ctx_train < 4096 ? hparams->n_ctx_train : 4096;
}

uint32_t gi_default_batch(const struct gi_hparams *hparams, uint32_t n_ctx, uint32_t of_device)
{
    const uint32_t all = gi_max_u32(n_ctx, GI_MAX_BATCH);
    return hparams->is_encoder ? all : gi_min_u32(all, gi_max_u32(of_device, GI_MAX_BATCH));
}

// Lays out a matrix of activations, one row per token of the batch. Returns its bytes.
static uint64_t lay_out_rows(struct gi_rows *rows, const struct gi_session_shape *shape,
                             uint32_t width)
{
    rows->stride = gi_round_up(width, GI_QUANT_BLOCK);
    return (uint64_t)rows->stride * shape->n_batch * sizeof(float);
}

// Returns the elements of the largest heads of any layer.
static uint32_t largest_head(const struct gi_hparams *hparams)
{
    return hparams->has_window_heads ? gi_max_u32(hparams->head_dim, hparams->window_heads.head_dim)
                                     : hparams->head_dim;
}

// Returns the GPU rows of the projection to the inputs of all layers, or of one layer's gate.
static uint32_t inputs_width(const struct gi_hparams *hparams)
{
    return (uint32_t)gi_round_up((uint64_t)hparams->n_layer * hparams->inputs.width,
                                 (uint64_t)2 * GI_TILE_ROWS);
}

// Returns the activations of a token: of the network, or of its experts and then their routes.
static uint32_t act_width(const struct gi_graph *graph)
{
    const struct gi_experts *experts = &graph->experts;
    const uint32_t n_ff = graph->hparams->n_ff;
    return graph->hparams->n_expert > 0
               ? gi_max_u32(n_ff, experts->route + GI_ROUTE_FLOATS * experts->n_used)
               : n_ff;
}

static void lay_out_experts(struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    struct gi_experts *experts = &graph->experts;
    experts->n_shared = hparams->n_shared;
    experts->n_expert = hparams->n_expert + hparams->n_shared;
    experts->n_used = hparams->n_expert_used + hparams->n_shared;
    experts->n_ff = hparams->n_expert_ff;
    experts->router = hparams->router;
    experts->act_width = gi_round_up(hparams->n_expert_ff, GI_QUANT_BLOCK);
    experts->y_width = gi_round_up(hparams->n_embd, GI_QUANT_BLOCK);
    experts->route = experts->n_used * experts->act_width;
}

// Rows of gate and up as a layer has them at the most (ops/record/weight.h), of each expert that a
// token takes. Experts leave their results in the same place.
static uint32_t pairs_width(const struct gi_graph *graph)
{
    const struct gi_experts *experts = &graph->experts;
    const uint64_t two_tiles = (uint64_t)2 * GI_TILE_ROWS;
    const uint32_t n_pairs = 2 * gi_round_up(graph->hparams->n_ff, two_tiles);
    const uint32_t n_expert_pairs = 2 * gi_round_up(experts->n_ff, two_tiles);
    return graph->hparams->n_expert > 0
               ? gi_max_u32(n_pairs, experts->n_used * gi_max_u32(experts->y_width, n_expert_pairs))
               : n_pairs;
}

static void lay_out_batch(struct gi_graph *graph, const struct gi_session_shape *shape,
                          uint64_t sizes[GI_SESSION_RANGE_COUNT])
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_recurrent_hparams *recurrent = &hparams->recurrent;
    const uint32_t n_state = gi_max_u32(recurrent->n_head * recurrent->dim, hparams->inputs.width);
    const uint32_t n_aside = gi_max_u32(n_state, hparams->altup.branch_rank);
    const uint32_t n_q = gi_max_u32(hparams->n_head * largest_head(hparams), n_aside);
    const uint32_t n_router = gi_router_rows(&graph->experts);
    const uint32_t n_sorted = hparams->n_expert > 0 ? gi_sorted_width(&graph->experts) : 0;
    const uint32_t n_act = gi_max_u32(act_width(graph), n_sorted); // prompts sort rows of experts
    const uint32_t n_inputs = hparams->n_layer * hparams->inputs.width;
    const uint32_t n_pairs = gi_max_u32(pairs_width(graph), hparams->altup.n * hparams->n_embd);
    const uint32_t n_gate_up = gi_max_u32(n_pairs, inputs_width(hparams));
    const uint32_t n_qkv = gi_max_u32(graph->qkv_layout.n_rows, recurrent->n_column);
    sizes[GI_SESSION_TOKENS] = (uint64_t)shape->n_batch * sizeof(uint32_t);
    sizes[GI_SESSION_X] = lay_out_rows(&graph->x, shape, hparams->n_embd);
    sizes[GI_SESSION_NORM] = lay_out_rows(&graph->norm, shape, hparams->n_embd);
    sizes[GI_SESSION_QKV] = lay_out_rows(&graph->qkv, shape, gi_max_u32(n_qkv, n_router));
    sizes[GI_SESSION_Q] = lay_out_rows(&graph->q, shape, n_q);
    sizes[GI_SESSION_ATTN] = lay_out_rows(&graph->attn, shape, n_q);
    sizes[GI_SESSION_FFN_GATE_UP] =
        lay_out_rows(&graph->ffn_gate_up, shape, gi_max_u32(n_gate_up, recurrent->n_column));
    sizes[GI_SESSION_FFN_ACT_ROWS] =
        lay_out_rows(&graph->ffn_act_rows, shape, gi_max_u32(n_act, n_state));
    sizes[GI_SESSION_INPUTS] = lay_out_rows(&graph->inputs, shape, n_inputs);
    const struct gi_session_shape frames = {.n_batch = 2 * shape->n_batch + 2};
    sizes[GI_SESSION_SOUND] = lay_out_rows(&graph->sound, &frames, hparams->n_sound);
    // One more row, so that a stream of the last token can be bound as a whole row.
    const struct gi_session_shape more = {.n_batch = shape->n_batch + 1};
    sizes[GI_SESSION_STREAM_ROWS] = lay_out_rows(
        &graph->stream_rows, &more,
        hparams->has_network_beside ? hparams->n_embd : hparams->altup.n * hparams->n_embd);
    sizes[GI_SESSION_ADAPTER_ROWS] =
        lay_out_rows(&graph->adapters.rows.t, shape, hparams->adapter_rows);
}

// Makes room for adapters at the end of a step's range. Returns the floats before it.
static uint32_t lay_out_adapter(const struct gi_hparams *hparams, uint64_t *size)
{
    const uint64_t begin = gi_round_up(*size, GI_SLOT_ALIGNMENT), rank = hparams->adapter_rank;
    if (rank == 0) {
        return 0;
    }
    *size = begin + (gi_adapter_scales(rank) + GI_MAX_ADAPTER_SPLITS * hparams->adapter_rows) *
                        sizeof(float);
    return (uint32_t)(begin / sizeof(float));
}

// Makes the same room in the scratch of attention, where offsets must not depend on the context.
static uint32_t lay_out_attention_adapter(const struct gi_hparams *hparams,
                                          struct gi_attention_scratch *scratch, uint64_t *size)
{
    const uint32_t begin = scratch->counter;
    uint64_t end = begin * sizeof(float);
    lay_out_adapter(hparams, &end);
    const uint32_t added = (uint32_t)gi_round_up(end / sizeof(float) - begin, 64);
    scratch->counter += added;
    scratch->partial += added;
    *size += added * sizeof(float);
    return begin;
}

// Lays out the caches of layers with and without a window, and a layer's state.
static void lay_out_kept(const struct gi_graph *graph, const struct gi_session_shape *shape,
                         struct gi_session_kept *kept)
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_heads full = {hparams->n_kv_head, hparams->head_dim, hparams->n_rot};
    const struct gi_heads *window = hparams->has_window_heads ? &hparams->window_heads : &full;
    *kept = (struct gi_session_kept){0};
    kept->sizes[GI_LAYER_ATTENTION] =
        gi_kv_layer_layout(&kept->kv[GI_LAYER_ATTENTION], hparams->n_head, full.n_kv_head,
                           full.head_dim, shape->n_ctx, shape->type_k, shape->type_v);
    kept->sizes[GI_LAYER_WINDOW] =
        gi_kv_layer_layout(&kept->kv[GI_LAYER_WINDOW], hparams->n_head, window->n_kv_head,
                           window->head_dim, shape->n_ctx, shape->type_k, shape->type_v);
    kept->kv[GI_LAYER_RECURRENT] = kept->kv[GI_LAYER_BOTH] = kept->kv[GI_LAYER_ATTENTION];
    kept->kv[GI_LAYER_KEYS] = kept->kv[GI_LAYER_ATTENTION];
    kept->sizes[GI_LAYER_KEYS] = kept->sizes[GI_LAYER_ATTENTION];
    kept->sizes[GI_LAYER_RECURRENT] = 2 * (uint64_t)hparams->recurrent.state_size * sizeof(float);
    kept->sizes[GI_LAYER_BOTH] =
        gi_slot_stride(kept->sizes[GI_LAYER_ATTENTION]) + kept->sizes[GI_LAYER_RECURRENT];
}

// Places the tables of rotations after the norms, then the positions. Returns the end, in floats.
static uint64_t lay_out_tables(struct gi_graph *graph, const struct gi_session_shape *shape)
{
    const struct gi_hparams *hparams = graph->hparams;
    const uint32_t n_norm = graph->norm_layout.size;
    uint64_t end = n_norm + (uint64_t)shape->n_ctx * hparams->n_rot;
    graph->vectors.rope = n_norm;
    graph->rope = (struct gi_rope){.table = n_norm, .n_rot = hparams->n_rot};
    graph->window_rope = graph->rope;
    if (hparams->has_window_rope) {
        graph->window_rope.table = (uint32_t)end;
        graph->window_rope.n_rot =
            hparams->has_window_heads ? hparams->window_heads.n_rot : hparams->n_rot;
        end += (uint64_t)shape->n_ctx * graph->window_rope.n_rot;
    }
    if (hparams->has_positions) {
        graph->positions = (uint32_t)gi_round_up(end, 4);
        end = graph->positions + (uint64_t)shape->n_ctx * hparams->n_embd;
    }
    return end;
}

// Lays out the scratch of attention of layers of all kinds, and of the rows that layers have beside
// attention, where a joint step has its results.
static uint64_t attention_scratch(struct gi_graph *graph, const struct gi_session_kept *kept)
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_kv_layer *full = &kept->kv[GI_LAYER_ATTENTION];
    const struct gi_kv_layer *window = &kept->kv[GI_LAYER_WINDOW];
    return gi_attention_scratch_layout(
        &graph->attention, full->head_dim < window->head_dim ? window : full,
        gi_max_u32(hparams->inputs.width, hparams->altup.branch_rank));
}

// Returns the floats of the row that takes a step's projections.
static uint32_t row_width(const struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    uint32_t width = gi_max_u32(gi_round_up(hparams->n_embd, (uint64_t)2 * GI_TILE_ROWS),
                                graph->qkv_layout.n_rows);
    width = gi_max_u32(width, hparams->recurrent.n_column);
    width = gi_max_u32(width, gi_router_rows(&graph->experts));
    width = gi_max_u32(width, inputs_width(hparams));
    width = gi_max_u32(width, graph->experts.n_used * graph->experts.y_width);
    width = gi_max_u32(width, hparams->altup.n * hparams->n_embd);
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        width = gi_max_u32(width, hparams->is_sparse[i] ? pairs_width(graph) : 0);
    }
    return width;
}

static bool has_cross(const struct gi_hparams *hparams)
{
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        if (gi_layer_kind(hparams, i) == GI_LAYER_CROSS) {
            return true;
        }
    }
    return false;
}

void gi_session_layout(struct gi_graph *graph, const struct gi_session_shape *shape,
                       struct gi_session_kept *kept, uint64_t sizes[GI_SESSION_RANGE_COUNT])
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_recurrent_hparams *recurrent = &hparams->recurrent;
    lay_out_experts(graph);
    lay_out_kept(graph, shape, kept);
    sizes[GI_SESSION_STATE] = sizeof(struct gi_step_state);
    sizes[GI_SESSION_COUNTS] = GI_MAX_SLOTS * sizeof(struct gi_grid_slot);
    sizes[GI_SESSION_RING] = GI_RING_SLOTS * sizeof(struct gi_ring_entry);
    sizes[GI_SESSION_CROSS] = has_cross(hparams) ? sizeof(struct gi_step_state) : 0;
    sizes[GI_SESSION_STREAM] =
        gi_stream_layout(&graph->stream, hparams->n_embd, hparams->n_rot, hparams->norm_eps);
    sizes[GI_SESSION_ATTENTION] = attention_scratch(graph, kept);
    graph->adapters.attention =
        lay_out_attention_adapter(hparams, &graph->attention, &sizes[GI_SESSION_ATTENTION]);
    graph->adapters.stream = lay_out_adapter(hparams, &sizes[GI_SESSION_STREAM]);
    sizes[GI_SESSION_ADAPTER] = hparams->adapter_rank * sizeof(float);
    sizes[GI_SESSION_FFN_ACT] =
        (uint64_t)gi_x_size(gi_max_u32(
            gi_max_u32(act_width(graph), hparams->inputs.width),
            gi_max_u32(recurrent->n_head * recurrent->dim, hparams->altup.branch_rank))) *
        sizeof(float);
    graph->adapters.ffn_act = lay_out_adapter(hparams, &sizes[GI_SESSION_FFN_ACT]);
    graph->input.stride = inputs_width(hparams);
    sizes[GI_SESSION_INPUT] = (uint64_t)graph->input.stride * sizeof(float);
    graph->streams.stride = hparams->altup.n > 0          ? gi_altup_step_width(hparams->n_embd)
                            : hparams->has_network_beside ? 2 * gi_round_up(hparams->n_embd, 64)
                                                          : 0;
    sizes[GI_SESSION_STREAMS] = (uint64_t)graph->streams.stride * sizeof(float);
    graph->row.stride = row_width(graph);
    sizes[GI_SESSION_ROW] = (uint64_t)graph->row.stride * sizeof(float);
    sizes[GI_SESSION_LOGITS] = gi_logits_layout(&graph->logits, hparams->n_vocab_rows);
    graph->logits.n_vocab = hparams->n_vocab; // no other row's logit counts
    sizes[GI_SESSION_ADJUST] = gi_adjust_layout(&graph->adjust, hparams->n_vocab, shape->n_ctx);
    lay_out_batch(graph, shape, sizes);
    sizes[GI_SESSION_VECTORS] = lay_out_tables(graph, shape) * sizeof(float);
}

uint64_t gi_session_range_size(uint32_t n_slots, uint32_t range, uint64_t size)
{
    if (n_slots == 1 || range == GI_SESSION_VECTORS) {
        return size;
    }
    return (n_slots + (range == GI_SESSION_STATE)) * gi_slot_stride(size);
}

void gi_session_draft_sizes(uint32_t n_rows, uint64_t row_size, uint64_t *states, uint64_t *logits)
{
    *states = (uint64_t)n_rows * GI_STEP_STATE_STRIDE;
    *logits = n_rows * gi_slot_stride(row_size);
}

//-- joint steps -----------------------------------------------------------------------------------

// Returns the bytes from row to row of a batch's activations; each row can be bound by itself.
static uint64_t row_stride(const struct gi_rows *rows)
{
    return gi_slot_stride(rows->stride * sizeof(float));
}

uint32_t gi_joint_input_rows(uint32_t n_slots)
{
    enum { LEAST = 5 };
    return n_slots < LEAST ? LEAST : n_slots;
}

void gi_joint_layout(const struct gi_graph *graph,
                     const uint64_t session_sizes[GI_SESSION_RANGE_COUNT], uint32_t n_slots,
                     uint64_t sizes[GI_JOINT_RANGE_COUNT])
{
    sizes[GI_JOINT_STREAM] = n_slots * gi_slot_stride(session_sizes[GI_SESSION_STREAM]);
    sizes[GI_JOINT_ATTENTION] = n_slots * gi_slot_stride(session_sizes[GI_SESSION_ATTENTION]);
    sizes[GI_JOINT_LOGITS] = n_slots * gi_slot_stride(session_sizes[GI_SESSION_LOGITS]);
    sizes[GI_JOINT_NORM] = gi_joint_input_rows(n_slots) * row_stride(&graph->norm);
    sizes[GI_JOINT_QKV] = n_slots * row_stride(&graph->qkv);
    sizes[GI_JOINT_FFN_GATE_UP] = n_slots * row_stride(&graph->ffn_gate_up);
    sizes[GI_JOINT_FFN_ACT] = gi_joint_input_rows(n_slots) * row_stride(&graph->ffn_act_rows);
    sizes[GI_JOINT_INPUTS] = n_slots * row_stride(&graph->inputs);
    sizes[GI_JOINT_STREAMS] = (n_slots + 1) * row_stride(&graph->stream_rows);
    sizes[GI_JOINT_ADAPTER] = n_slots * row_stride(&graph->adapters.rows.t);
}
