// The lists of joint steps: one token of each of several sequences (gpu/dispatch/joint.h). A family
// records them like a batch; graph/joint_rows.h records the parts that belong to one sequence. A
// list is recorded and built on first use.
#pragma once

#include "engine/lists/tables.h"
#include "gpu/dispatch/joint.h"

// The lists: one of all slots, and one of each slot, which computes only its own row.
enum { GI_JOINT_LIST_COUNT = 1 + GI_MAX_ROWS };

struct gi_joint_tables {
    const struct glinfer_model *model; // borrowed; NULL: no joint lists
    struct gi_joint joint;
    struct gi_slot_array adjust; // adjustments of each slot's logits
    struct gi_slot_array scales; // of adapters
    struct gi_graph graph;
    struct gi_recorder recorder; // except its list
    struct gi_range ranges[GI_JOINT_RANGE_COUNT];
    struct gi_executor *executors[GI_JOINT_LIST_COUNT][GI_STEP_END_COUNT]; // NULL: not ready yet
    uint32_t n_ready;
    uint32_t n_forgotten; // times that the lists were destroyed
    bool is_stale;        // some lists contain programs that were disabled later
    bool is_refused;      // joint steps are disabled: a required program is wrong
    struct gi_listener listener;
};

// Initializes without lists. `slot`: tables of one of the sequences, whose vectors all share.
// state, ring, adjust and scales hold all slots, state also one element for the list itself; kv:
// (n_layer).
void gi_joint_tables_init(struct gi_joint_tables *tables, const struct gi_tables *slot,
                          uint32_t n_slots, const struct gi_slot_array *state,
                          const struct gi_slot_array *ring, const struct gi_slot_array *adjust,
                          const struct gi_slot_array *scales, const struct gi_slot_array *kv,
                          const struct gi_range ranges[GI_JOINT_RANGE_COUNT]);
// Destroys the lists. Accepts all-zero.
void gi_joint_tables_finish(struct gi_joint_tables *tables);

// Records the list for a bit set of slots; the caller builds, seals and destroys it. Returns NULL
// with the first failure of the recording.
struct gi_dispatch_table *gi_joint_tables_record(struct gi_joint_tables *tables, uint32_t set,
                                                 enum gi_step_end end, struct glinfer_error *err);
// Records the layers of a joint step of all slots into the recorder's list, in its form.
void gi_joint_tables_record_layers(struct gi_joint_tables *tables,
                                   const struct gi_recorder *recorder);
// Create the lists that run before the layers of a joint step of all slots, an embedding, and after
// them, logits and choices: the layers were recorded last. Return NULL as gi_list_build does.
struct gi_executor *gi_joint_tables_create_head(struct gi_joint_tables *tables,
                                                struct glinfer_error *err);
struct gi_executor *gi_joint_tables_create_tail(struct gi_joint_tables *tables,
                                                enum gi_step_end end, struct glinfer_error *err);
// Returns the executor of joint steps of a bit set of slots with this end; on first use records,
// builds and tests its list. Returns NULL with the error of these, or, without an error, if
// is_refused: a wrong program has no replacement, which is logged once, and sequences are decoded
// one after another.
struct gi_executor *gi_joint_tables_step(struct gi_joint_tables *tables, uint32_t set,
                                         enum gi_step_end end, struct glinfer_error *err);
// Prepares the executor that gi_joint_tables_step returns. Returns true also if is_refused.
bool gi_joint_tables_prepare(struct gi_joint_tables *tables, uint32_t set, enum gi_step_end end,
                             struct glinfer_error *err);
// Returns an end that serves both answers: a later one serves the earlier ones, and an adjusted one
// serves those without adjustments.
enum gi_step_end gi_joint_end(enum gi_step_end a, enum gi_step_end b);
// Destroy the lists, so that they are recorded again: always, or only if they are stale. No list is
// being submitted.
void gi_joint_tables_forget(struct gi_joint_tables *tables);
void gi_joint_tables_renew(struct gi_joint_tables *tables);
// Returns the number of rows that the list computes: n_tokens of its step_state.
uint32_t gi_joint_tables_rows(const struct gi_joint_tables *tables, uint32_t set);
// Returns the logits of a slot after a joint step.
struct gi_range gi_joint_tables_logits(const struct gi_joint_tables *tables, uint32_t slot);
// Returns the list's own step_state.
struct gi_range gi_joint_tables_state(const struct gi_joint_tables *tables);
