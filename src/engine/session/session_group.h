// The shared memory of sessions that were created together: one slot per session; a single session
// is a group of one. Ranges of slots are contiguous, so that a joint step
// (engine/lists/joint_tables.h) can address them by slot. Owned by its sessions; the last one frees
// it. The context is entered in functions that return errors.
#pragma once

#include "base/owned.h"
#include "engine/lists/joint_tables.h"
#include "engine/model/arena.h"
#include "engine/session/sequence.h"

struct gi_joint_run;
struct glinfer_session;

struct gi_session_group {
    struct glinfer_model *model; // borrowed
    uint32_t n_slots;
    struct glinfer_session *sessions[GI_MAX_ROWS]; // NULL: destroyed or not created yet
    struct gi_arena memory;                        // the ranges of the slots, then their caches
    uint32_t placed;                               // bit set of slots that use the memory
    uint64_t reserved;                             // bytes of the model's budget
    struct gi_slot_array arrays[GI_SESSION_RANGE_COUNT]; // GI_SESSION_VECTORS is shared
    struct gi_slot_array *kv;                            // (n_layer)
    struct gi_range joint_ranges[GI_JOINT_RANGE_COUNT];  // if n_slots > 1
    struct gi_joint_tables joint;                        // if n_slots > 1
    struct gi_owned *owned;   // objects that end with the memory, such as run
    struct gi_joint_run *run; // engine/answer/joint_run.h; NULL: no answer in steps yet
};

// Creates a group without sessions. Fails with NO_MEMORY.
struct gi_session_group *gi_session_group_create(struct glinfer_model *model, uint32_t n_slots,
                                                 struct glinfer_error *err);
// Lays out the session's graph and assigns its ranges and cache; the first call allocates those of
// all slots. The session's slot, shape and tables are set. Fails with OVER_BUDGET, INVALID_ARGUMENT
// (the device cannot bind such a context), NO_MEMORY.
bool gi_session_group_place(struct gi_session_group *group, struct glinfer_session *session,
                            struct glinfer_error *err);
// Releases the session's part of the memory, if it has one; the last one frees the memory.
void gi_session_group_release(struct gi_session_group *group,
                              const struct glinfer_session *session);
// Removes the session from the group; the last one destroys the group.
void gi_session_group_leave(struct gi_session_group *group, const struct glinfer_session *session);
