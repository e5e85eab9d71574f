// glinfer_session: the cache, scratch and recorded tables of one timeline of tokens.
#ifndef GI_ENGINE_SESSION_H
#define GI_ENGINE_SESSION_H

#include "engine/load/model.h"
#include "engine/run/session_layout.h"
#include "persistent/persistent.h"
#include "persistent/persistent_policy.h"
#include "persistent/persistent_verdict.h"

#include <stdatomic.h>

// How a step ends: which of the tables is replayed.
enum gi_step_end {
    GI_STEP_END_ARGMAX,     // greedy without log-probabilities
    GI_STEP_END_SAMPLE,     // among few: a small top_k
    GI_STEP_END_SAMPLE_ALL, // with log-probabilities
    GI_STEP_END_TOP,        // among few, by many groups
    GI_STEP_END_MANY,       // among many
    GI_STEP_END_COUNT,
};

#define GI_MAX_CHAIN        256
#define GI_CHAINS_IN_FLIGHT 2
// Of a chain: the entries of its steps, then the fault of a persistent one.
#define GI_READBACK_SIZE (GI_MAX_CHAIN * sizeof(struct gi_ring_entry) + sizeof(uint32_t))

struct gi_scorer;

// The persistent form of steps that end in one way.
struct gi_session_persistent {
    struct gi_persistent *made; // NULL: nothing was, or it is of no use
    // What ends each of its steps by ordinary dispatches; NULL: the program does.
    struct gi_dispatch_table *tail;
    enum gi_persistent_phase phase;
    struct gi_hash key;        // of the verdict
    struct gi_verdict verdict; // what is known of it
    uint64_t take_ns;          // what taking it from the cache took; 0: it was compiled here
    uint64_t looked_ns;        // when the program was last looked for in the cache
};

struct glinfer_session {
    struct glinfer_model *model; // borrowed; counts this session
    uint32_t n_ctx, n_batch;
    uint32_t n_few;        // tokens of a batch that has kernels of its own; 0: none
    uint32_t chain_length; // 0: by budget_ns
    uint64_t budget_ns;    // GPU time of a chain or a batch
    uint64_t reserved;     // bytes of the model's budget

    struct gi_arena arena;
    struct gi_range ranges[GI_SESSION_RANGE_COUNT];
    struct gi_kv_layer *kv_cache; // n_layer
    struct gi_graph graph;
    struct gi_recorder recorder; // what tables are recorded with, but for the table
    struct gi_step_buffers step_buffers;
    // Tables that were recorded: NULL until then, or of no use here. See session_tables.h.
    struct gi_dispatch_table *step[GI_STEP_END_COUNT];       // a decode step
    struct gi_dispatch_table *prompt;                        // a batch, to the residual stream
    struct gi_dispatch_table *prompt_few;                    // the same of at most n_few tokens
    struct gi_dispatch_table *prompt_end[GI_STEP_END_COUNT]; // its last row, to a token
    uint32_t ready;                                          // the set of those that are
    bool has_rest;                                           // gi_session_prepare_rest was called
    struct gi_session_persistent persistent[GI_STEP_END_COUNT]; // session_persistent.h
    struct gi_readback readbacks[GI_CHAINS_IN_FLIGHT];
    struct gi_fence batch_fences[GI_CHAINS_IN_FLIGHT];
    struct gi_scorer *scorer; // NULL until glinfer_score is called

    uint32_t n_past; // tokens in the cache
    int32_t pending; // the last token sampled, not in the cache yet; GI_NO_TOKEN: none
    uint32_t epoch;
    uint64_t step_ns;         // measured time of a decode step, 0: not yet
    uint64_t decode_ns;       // of all of them so far
    uint64_t prompt_token_ns; // likewise of a prompt's token
    size_t max_token_size;    // bytes of the longest token
    int32_t stop_ids[GI_MAX_STOP_IDS];
    uint32_t n_stop_ids;
    atomic_bool is_cancelled;
};

// Record a table anew with session->recorder: a batch's to the residual stream, a decode step's. The caller
// builds its programs, seals and destroys it. NULL with what ops fail with.
struct gi_dispatch_table *gi_session_record_prompt(struct glinfer_session *session,
                                                   struct glinfer_error *err);
struct gi_dispatch_table *gi_session_record_step(struct glinfer_session *session,
                                                 enum gi_step_end end, struct glinfer_error *err);

// Points the graph at the session's ranges.
void gi_session_hand_out_ranges(struct glinfer_session *session);

// Returns the table of a decode step, made ready if it is not; NULL with what that fails with. Tables with grids
// that change are to be primed when a generation takes them up.
struct gi_dispatch_table *gi_session_step(struct glinfer_session *session, enum gi_step_end end,
                                          struct glinfer_error *err);
// The prompt table for a batch of n_tokens, made ready if it is not: NULL with what that fails with. Those of a
// session have the same number of dispatches.
struct gi_dispatch_table *gi_session_prompt(struct glinfer_session *session, uint32_t n_tokens,
                                            struct glinfer_error *err);

#endif
