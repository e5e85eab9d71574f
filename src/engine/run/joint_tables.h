// The lists of joint steps: one token of each of several sequences (gpu/dispatch/joint.h), recorded
// by the same functions of a family as a batch, with what belongs to one sequence from
// graph/joint_rows.h. A list is recorded, and its programs built, when it is first needed.
#ifndef GI_ENGINE_JOINT_TABLES_H
#define GI_ENGINE_JOINT_TABLES_H

#include "engine/run/tables.h"
#include "gpu/dispatch/joint.h"

// Ranges of a joint step that sessions alone do not have.
enum gi_joint_range {
    GI_JOINT_STREAM, // (n_slots, its stride), as the next two
    GI_JOINT_ATTENTION,
    GI_JOINT_LOGITS,
    GI_JOINT_NORM, // from here on rows of a batch of n_slots tokens
    GI_JOINT_QKV,
    GI_JOINT_FFN_GATE_UP,
    GI_JOINT_FFN_ACT,
    GI_JOINT_INPUTS,
    GI_JOINT_STREAMS, // rows of several streams of the residual, one more than of tokens
    GI_JOINT_RANGE_COUNT,
};

// The lists: of all slots, and of one slot alone, whose kernels compute no row but its own.
enum { GI_JOINT_LIST_COUNT = 1 + GI_MAX_ROWS };

struct gi_joint_tables {
    const struct glinfer_model *model; // borrowed; NULL: there are none
    struct gi_joint joint;
    struct gi_slot_array adjust; // what adjusts each slot's logits
    struct gi_graph graph;
    struct gi_recorder recorder; // but for the list
    struct gi_range ranges[GI_JOINT_RANGE_COUNT];
    struct gi_executor *executors[GI_JOINT_LIST_COUNT][GI_STEP_END_COUNT]; // NULL: not ready yet
    uint32_t n_ready;
    bool is_stale;   // some were made before programs were left out that later ones do without
    bool is_refused; // there are no lists: the device has no right programs for them
    struct gi_listener listener;
};

// Sets the bytes that n_slots sequences take, whose graph is laid out.
void gi_joint_layout(const struct gi_graph *graph,
                     const uint64_t session_sizes[GI_SESSION_RANGE_COUNT], uint32_t n_slots,
                     uint64_t sizes[GI_JOINT_RANGE_COUNT]);
// Begins without lists. `slot` is the tables of one of the sequences, whose vectors all share;
// state, ring and adjust are of all slots, state with one more for the list's own; kv has n_layer.
void gi_joint_tables_init(struct gi_joint_tables *tables, const struct gi_tables *slot,
                          uint32_t n_slots, const struct gi_slot_array *state,
                          const struct gi_slot_array *ring, const struct gi_slot_array *adjust,
                          const struct gi_slot_array *kv,
                          const struct gi_range ranges[GI_JOINT_RANGE_COUNT]);
// Accepts all-zero.
void gi_joint_tables_finish(struct gi_joint_tables *tables);

// Records the list for a set of slots, as bits; the caller builds its programs, seals and destroys
// it. NULL with the first failure of the recording.
struct gi_dispatch_table *gi_joint_tables_record(struct gi_joint_tables *tables, uint32_t set,
                                                 enum gi_step_end end, struct glinfer_error *err);
// Returns the executor of joint steps of a set of slots that end so, made ready and its programs
// tested if it is not. NULL with what that fails with; with is_refused, and nothing in err, if a
// program is wrong that no other takes the place of, which is logged once: answers take turns then.
struct gi_executor *gi_joint_tables_step(struct gi_joint_tables *tables, uint32_t set,
                                         enum gi_step_end end, struct glinfer_error *err);
// Makes it ready likewise. True with is_refused, too.
bool gi_joint_tables_prepare(struct gi_joint_tables *tables, uint32_t set, enum gi_step_end end,
                             struct glinfer_error *err);
// Returns the end that serves two answers: each later one of those without adjusting serves those
// before it, and one that adjusts serves the same without.
enum gi_step_end gi_joint_end(enum gi_step_end a, enum gi_step_end b);
// Forgets the lists, so that they are made anew, or only if they are stale. None is being
// submitted.
void gi_joint_tables_forget(struct gi_joint_tables *tables);
void gi_joint_tables_renew(struct gi_joint_tables *tables);
// Returns the rows that it computes: n_tokens of the list's step_state.
uint32_t gi_joint_tables_rows(const struct gi_joint_tables *tables, uint32_t set);
// Returns the logits of a slot behind a joint step.
struct gi_range gi_joint_tables_logits(const struct gi_joint_tables *tables, uint32_t slot);
// Returns the list's own step_state.
struct gi_range gi_joint_tables_state(const struct gi_joint_tables *tables);

#endif
