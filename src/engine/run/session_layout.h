// The buffers of a session: how large each is for a model and a session's settings. Used to
// estimate before anything is allocated, and to allocate.
#ifndef GI_ENGINE_SESSION_LAYOUT_H
#define GI_ENGINE_SESSION_LAYOUT_H

#include "graph/graph.h"

// Every range that is not the cache, in the order in which they lie in memory: those of a decode
// step come first, so that their places, which may be constants of a program, depend neither on the
// context nor on the batch.
enum gi_session_range {
    GI_SESSION_STATE,
    GI_SESSION_COUNTS,
    GI_SESSION_RING,
    GI_SESSION_STREAM,
    GI_SESSION_ROW,
    GI_SESSION_FFN_ACT,
    GI_SESSION_INPUT,   // 0 bytes if layers have no inputs of their own
    GI_SESSION_STREAMS, // likewise, if the residual is one
    GI_SESSION_LOGITS,
    GI_SESSION_ATTENTION, // grows with the context
    GI_SESSION_ADJUST,    // likewise
    GI_SESSION_TOKENS,    // from here on with the batch
    GI_SESSION_X,
    GI_SESSION_NORM,
    GI_SESSION_QKV,
    GI_SESSION_Q,
    GI_SESSION_ATTN,
    GI_SESSION_FFN_GATE_UP,
    GI_SESSION_FFN_ACT_ROWS,
    GI_SESSION_INPUTS,
    GI_SESSION_STREAM_ROWS,
    GI_SESSION_VECTORS, // grows with the context
    GI_SESSION_RANGE_COUNT,
};

struct gi_session_shape {
    uint32_t n_ctx, n_batch;
    enum gi_cache_type type_k, type_v;
};

// Holds what a layer of each kind keeps: the bytes (a cache, a state and a copy of one, or these
// one behind the other at a multiple of GI_SLOT_ALIGNMENT), and how the cache of one with attention
// lies in them; of a recurrent layer its context and types count alone.
struct gi_session_kept {
    struct gi_kv_layer kv[GI_LAYER_KIND_COUNT];
    uint64_t sizes[GI_LAYER_KIND_COUNT];
};

// Fills the graph's offsets and strides (their ranges have no buffer yet), what layers keep, and
// sizes in bytes of every range.
void gi_session_layout(struct gi_graph *graph, const struct gi_session_shape *shape,
                       struct gi_session_kept *kept, uint64_t sizes[GI_SESSION_RANGE_COUNT]);

// Returns the bytes of a range, or with GI_SESSION_RANGE_COUNT of a layer's cache, of all sessions
// of a group. One alone has no padding; the states have one more for the list of joint steps.
uint64_t gi_session_range_size(uint32_t n_slots, uint32_t range, uint64_t size);
// Sets the bytes of the step_states and of the logits of drafts with n_rows rows.
void gi_session_draft_sizes(uint32_t n_rows, uint64_t row_size, uint64_t *states, uint64_t *logits);

#endif
