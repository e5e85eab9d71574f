// The replay of a sealed dispatch table: a few GL calls an entry, with nothing decided but the
// grid. For executors, and for tests and measurements of entries.
#pragma once

#include "gpu/dispatch/dispatch_table.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/time_box.h"
#include "gpu/dispatch/timer.h"

// The entries of a list to run, and their timer, for measurements and tests.
struct gi_selection {
    uint32_t site;          // only the entries of this site; 0: all
    uint32_t skipped_site;  // all but those of this site; 0: all
    uint32_t entry;         // only entry `entry` - 1; 0: all
    struct gi_timer *timer; // each entry becomes a range of it, in order; NULL: none
};

// A place in a chain that is submitted in several calls. All-zero: its beginning.
struct gi_replay_cursor {
    uint32_t step, entry;
    uint32_t group; // of the entry, along the axis that it may be divided by
    uint32_t stop;  // entry before which the replay pauses; 0: it does not
    bool is_paused; // there is more to submit
};

struct gi_replay {
    uint32_t n_past, n_tokens; // the values in step_state, for direct grids
    const struct gi_joint_place
        *joint;              // of a joint list, n_past being the largest; NULL: not joint
    uint32_t joint_step;     // steps since that place
    uint32_t flush_interval; // dispatches between flushes; 0: none
    struct gi_selection selection;
};
// Submits the table once and ends it with a barrier, so that tables may follow each other. GL
// errors surface at the next gi_gpu_check. In the indirect mode (limits.is_indirect and counts
// given) grids with a rule come from counts and n_past is not looked at; a FIXED grid is dispatched
// directly, which takes half the host time: it runs past the end of a chain too, and is discarded.
// GLINFER_DISPATCH=indirect makes every grid indirect.
void gi_dispatch_table_replay(struct gi_dispatch_table *table, const struct gi_replay *replay);
// Submits the whole table once, every grid directly, in pieces and with
// flushes as the time box says, which may be planning: the table need not be sealed then. What it
// leaves open is not flushed. Begins where the cursor points to; with is_paused set in it, the box
// paused or the cursor's stop is reached, and the next call goes on. Fails with GPU_LOST,
// CANCELLED.
bool gi_dispatch_table_replay_boxed(struct gi_dispatch_table *table, const struct gi_replay *replay,
                                    struct gi_time_box *box, struct gi_replay_cursor *cursor,
                                    struct glinfer_error *err);
// Returns the longest estimate of an entry that cannot run in pieces, or of one of the most pieces
// of another, in nanoseconds.
double gi_dispatch_table_longest(const struct gi_dispatch_table *table, uint32_t n_past,
                                 uint32_t n_tokens, const struct gi_time_box *box);
// Submits entry i with no groups, for drivers that compile a program when it is first dispatched;
// not all others can take such a dispatch. Nothing runs and nothing is written. GL errors surface
// at the next gi_gpu_check.
void gi_dispatch_table_warm(const struct gi_dispatch_table *table, uint32_t i);
