// Time of runs of a session's tables, for the tuner. A GPU's clock sleeps between short bursts,
// down to a third of its speed, so each measurement follows arithmetic that keeps it awake; before
// the first one that arithmetic runs until its own time is steady.
#pragma once

#include "engine/session/session.h"
#include "gpu/dispatch/multi_executor.h"
#include "gpu/dispatch/timer.h"

struct gi_tune_clock {
    struct glinfer_session *session; // borrowed
    struct glinfer_error *err;       // receives the failures of all functions
    struct gi_timer *timer;
    struct gi_multi_executor executor; // of the table that is run
    bool is_waiting;                   // by the host's clock: no queries, or they tell nothing
    struct gi_arena arena;
    struct gi_executor *burst; // arithmetic; NULL: a software renderer has no clock to wake
    uint32_t n_burst;          // replays that take about a millisecond
    uint64_t submit_ns;        // time that the host took to submit the latest run
};

// Names what is run: a table, all of it, one site of it or all but one.
struct gi_tune_run {
    struct gi_dispatch_table *table;
    struct gi_runner *runner;    // of the table's session
    uint32_t site, skipped_site; // 0: all
    uint32_t n_past, n_tokens;
    uint32_t n; // replays; n_past + n tokens fit the context
};

// The programs it needs go into session->recorder.programs and are built. Fails with NO_MEMORY,
// DRIVER, GPU_LOST.
bool gi_tune_clock_init(struct gi_tune_clock *clock, struct glinfer_session *session,
                        struct glinfer_error *err);
void gi_tune_clock_finish(struct gi_tune_clock *clock);

// Takes queries if they account for a good part of a step's time: llvmpipe's say a nanosecond.
bool gi_tune_clock_choose(struct gi_tune_clock *clock, const struct gi_tune_run *step);
// Runs arithmetic until its time is steady, for half a second at most.
bool gi_tune_clock_warm(struct gi_tune_clock *clock);
// Sets *ns to the time of one replay of the run. Fails with DRIVER, GPU_LOST, NO_MEMORY,
// CANCELLED (glinfer_session_cancel).
bool gi_tune_clock_measure(struct gi_tune_clock *clock, const struct gi_tune_run *run, double *ns);
// The same by the host's clock, from writing step_state on: the write is pending when the first
// grid is dispatched.
bool gi_tune_clock_wall(struct gi_tune_clock *clock, const struct gi_tune_run *run, double *ns);
