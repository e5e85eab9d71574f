// The sizes of a session's buffers, from the model and the session's settings. Used for estimates,
// before anything is allocated, and for allocation.
#pragma once

#include "graph/graph.h"

// All ranges except the cache, in memory order. Ranges of a decode step come first, so that their
// offsets, which may be constants in a program, depend neither on the context nor on the batch.
enum gi_session_range {
    GI_SESSION_STATE,
    GI_SESSION_COUNTS,
    GI_SESSION_RING,
    GI_SESSION_CROSS, // 0 bytes without cross-attention
    GI_SESSION_STREAM,
    GI_SESSION_ROW,
    GI_SESSION_FFN_ACT,
    GI_SESSION_INPUT,   // 0 bytes if layers have no inputs of their own
    GI_SESSION_STREAMS, // 0 bytes if there is one residual stream
    GI_SESSION_LOGITS,
    GI_SESSION_ADAPTER,   // 0 bytes without adapters: a scale of each of their columns
    GI_SESSION_ATTENTION, // grows with the context
    GI_SESSION_ADJUST,    // grows with the context
    GI_SESSION_TOKENS,    // from here on: grows with the batch
    GI_SESSION_X,
    GI_SESSION_NORM,
    GI_SESSION_QKV,
    GI_SESSION_Q,
    GI_SESSION_ATTN,
    GI_SESSION_FFN_GATE_UP,
    GI_SESSION_FFN_ACT_ROWS,
    GI_SESSION_INPUTS,
    GI_SESSION_STREAM_ROWS,
    GI_SESSION_ADAPTER_ROWS, // 0 bytes without adapters
    GI_SESSION_SOUND,        // 0 bytes unless an encoder hears
    GI_SESSION_VECTORS,      // grows with the context
    GI_SESSION_RANGE_COUNT,
};

// Ranges of a joint step that a single session does not have.
enum gi_joint_range {
    GI_JOINT_STREAM, // (n_slots, stride); also the next two
    GI_JOINT_ATTENTION,
    GI_JOINT_LOGITS,
    GI_JOINT_NORM, // from here on: rows of a batch of n_slots tokens
    GI_JOINT_QKV,
    GI_JOINT_FFN_GATE_UP,
    GI_JOINT_FFN_ACT,
    GI_JOINT_INPUTS,
    GI_JOINT_STREAMS, // n_slots + 1 rows of several residual streams
    GI_JOINT_ADAPTER,
    GI_JOINT_RANGE_COUNT,
};

struct gi_session_shape {
    uint32_t n_ctx, n_batch;
    enum gi_cache_type type_k, type_v;
};

// The memory that a layer of each kind keeps between steps. sizes: bytes of the cache, or of the
// state and its checkpoint, or of these after each other at multiples of GI_SLOT_ALIGNMENT. kv: the
// layout of the cache; for a recurrent layer only its context and types.
struct gi_session_kept {
    struct gi_kv_layer kv[GI_LAYER_KIND_COUNT];
    uint64_t sizes[GI_LAYER_KIND_COUNT];
};

// Return the default context and, for a context, the default batch of a session: that of the device
// (0: GI_MAX_BATCH). An encoder's tokens attend to later ones, so its batch holds a whole text.
uint32_t gi_default_context(const struct gi_hparams *hparams);
uint32_t gi_default_batch(const struct gi_hparams *hparams, uint32_t n_ctx, uint32_t of_device);

// Fills the graph's offsets and strides (ranges have no buffer yet), the memory that layers keep,
// and the size in bytes of every range.
void gi_session_layout(struct gi_graph *graph, const struct gi_session_shape *shape,
                       struct gi_session_kept *kept, uint64_t sizes[GI_SESSION_RANGE_COUNT]);

// Returns the bytes of a range for all sessions of a group, or of a layer's cache with
// GI_SESSION_RANGE_COUNT. A single session has no padding; a group has one more step_state.
uint64_t gi_session_range_size(uint32_t n_slots, uint32_t range, uint64_t size);
// Sets the bytes of the step_states and logits of drafts with n_rows rows.
void gi_session_draft_sizes(uint32_t n_rows, uint64_t row_size, uint64_t *states, uint64_t *logits);

// Sets the sizes in bytes of the ranges of n_slots sequences. The graph is laid out.
void gi_joint_layout(const struct gi_graph *graph,
                     const uint64_t session_sizes[GI_SESSION_RANGE_COUNT], uint32_t n_slots,
                     uint64_t sizes[GI_JOINT_RANGE_COUNT]);
// Returns the rows that a joint step has for the input of products: at least five, for the layout
// of f16 rows.
uint32_t gi_joint_input_rows(uint32_t n_slots);
