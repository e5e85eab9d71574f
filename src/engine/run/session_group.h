// The memory of sessions that were created together, and what they share: a group has a slot for
// each, one alone is a group of one. Ranges of all slots lie one behind the other, so that a joint
// step (engine/run/joint_tables.h) finds them by slot. Owned by its sessions, the last of which
// frees it. The context is entered wherever an error is returned.
#ifndef GI_ENGINE_SESSION_GROUP_H
#define GI_ENGINE_SESSION_GROUP_H

#include "engine/load/arena.h"
#include "engine/run/joint_tables.h"

struct gi_joint_run;
struct glinfer_session;

struct gi_session_group {
    struct glinfer_model *model; // borrowed
    uint32_t n_slots;
    struct glinfer_session *sessions[GI_MAX_ROWS]; // NULL: destroyed, or not created yet
    struct gi_arena memory;                        // the ranges of the slots, then their caches
    uint32_t placed;                               // the set of slots that use it
    uint64_t reserved;                             // bytes of the model's budget
    struct gi_slot_array arrays[GI_SESSION_RANGE_COUNT]; // GI_SESSION_VECTORS is one for all
    struct gi_slot_array *kv;                            // (n_layer)
    struct gi_range joint_ranges[GI_JOINT_RANGE_COUNT];  // of more than one slot
    struct gi_joint_tables joint;                        // likewise
    struct gi_joint_run *run; // engine/answer/joint_run.h; NULL: no answer in steps yet
};

// Creates a group without sessions. Fails with NO_MEMORY.
struct gi_session_group *gi_session_group_create(struct glinfer_model *model, uint32_t n_slots,
                                                 struct glinfer_error *err);
// Lays the session's graph out and gives it its ranges and its cache; the first one allocates those
// of all. The session's slot, shape and tables are set. Fails with OVER_BUDGET, INVALID_ARGUMENT (a
// context that the device cannot bind), NO_MEMORY.
bool gi_session_group_place(struct gi_session_group *group, struct glinfer_session *session,
                            struct glinfer_error *err);
// Gives up what a session has of it; the last one frees it. Does nothing for one without.
void gi_session_group_release(struct gi_session_group *group,
                              const struct glinfer_session *session);
// Leaves the group, which ends with its last session.
void gi_session_group_leave(struct gi_session_group *group, const struct glinfer_session *session);

#endif
