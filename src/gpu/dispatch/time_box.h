// A time box keeps the GPU time of each submission within a budget, since kernels' watchdogs and
// other users of a GPU wait for the end of one: it decides where the stream of dispatches is
// flushed, and in how many pieces a long dispatch runs. It estimates from the rates of the device's
// class (gpu/dispatch/dispatch_estimate.h) until it has timed a program, alone and with a fence, on
// its first dispatches. At most two submissions are in flight, so a cancelled call returns within
// about one budget (gi_gpu_watch). A caller that has no time to wait gives it a time to pause at.
// One thread, with the context current.
#pragma once

#include "gpu/device/fence.h"
#include "gpu/device/gpu.h"
#include "gpu/program/program_table.h"

#define GI_BOX_FLIGHTS 2

struct gi_dispatch_table;

struct gi_box_flight {
    struct gi_fence fence;
    uint64_t begin_ns;
    double estimate_ns;
    uint32_t n_pieces;
    uint32_t program; // of all its pieces; UINT32_MAX: of several
};

struct gi_box_rate {
    float factor;     // measured over estimated
    uint32_t n_timed; // dispatches that were timed alone
};

// Tells a plan of a piece of a dispatch, or of the end of a submission (label NULL).
struct gi_box_event {
    const char *label;
    uint32_t entry, n_pieces;
    double ns; // estimated, of all pieces or of the submission
};

struct gi_time_box {
    struct gi_gpu *gpu; // borrowed
    uint64_t budget_ns;
    struct gi_box_rate *rates; // by index of program, n_rates
    uint32_t n_rates;
    double scale; // of all estimates: measured over estimated time of mixed submissions
    struct gi_box_flight open; // not flushed yet; n_pieces 0: nothing is
    struct gi_box_flight flights[GI_BOX_FLIGHTS];
    uint32_t n_flights;
    uint64_t done_ns; // when the last flight was seen to be over
    // Time of the clock from which on gi_time_box_pause says so, once a piece was submitted since
    // has_begun was reset; 0: never, and waits are waited for.
    uint64_t pause_ns;
    bool has_begun;
    // If set, nothing is submitted, and each is told of.
    void (*plan)(void *user, const struct gi_box_event *event);
    void *user;
};

void gi_time_box_init(struct gi_time_box *box, struct gi_gpu *gpu, uint64_t budget_ns);
// Accepts all-zero.
void gi_time_box_finish(struct gi_time_box *box);

// Makes room for the rates of all programs of the table. Fails with NO_MEMORY.
bool gi_time_box_reserve(struct gi_time_box *box, const struct gi_program_table *programs,
                         struct glinfer_error *err);
// Returns the estimated nanoseconds of a program's dispatch that the class takes for class_ns.
double gi_time_box_estimate(const struct gi_time_box *box, uint32_t program, double class_ns);
// Returns how many pieces it should run in, of at most `most`.
uint32_t gi_time_box_pieces(const struct gi_time_box *box, uint32_t program, double class_ns,
                            uint32_t most);

// Returns true, in *pauses, if no more is to be submitted now: pause_ns has passed, or two
// submissions are in flight. What is open is flushed as far as that needs no wait. Fails as
// gi_time_box_close.
bool gi_time_box_pause(struct gi_time_box *box, bool *pauses, struct glinfer_error *err);
// Called before a piece is submitted: ends the submission before it if the piece does not fit, and
// waits for an older one. Fails with GPU_LOST, CANCELLED.
bool gi_time_box_enter(struct gi_time_box *box, uint32_t program, double class_ns,
                       struct glinfer_error *err);
// Called after a dispatch: waits for a program that is not timed yet. Fails as gi_time_box_enter.
bool gi_time_box_leave(struct gi_time_box *box, uint32_t program, struct glinfer_error *err);
// Ends the submission and flushes it unless it is empty. Fails as gi_time_box_enter.
bool gi_time_box_close(struct gi_time_box *box, struct glinfer_error *err);
// Discards the open submission and those in flight: the caller has flushed, and waits by other
// means.
void gi_time_box_forget(struct gi_time_box *box);
// Returns the estimated nanoseconds of all that is open and in flight.
uint64_t gi_time_box_expected(const struct gi_time_box *box);
