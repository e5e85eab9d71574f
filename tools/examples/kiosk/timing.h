// The clock, and lists of durations that are shown as a histogram. A list owns its memory; one
// thread at a time uses it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Returns seconds of CLOCK_MONOTONIC.
double timing_now(void);
// Sleeps until timing_now() is at least `time`; or, fd being at least 0, until it is readable.
// Returns true if it is.
bool timing_wait(double time, int fd);

struct durations {
    double *ms; // in the order of durations_add
    size_t count, capacity;
};

// Leaves a duration of seconds out if there is no memory for it.
void durations_add(struct durations *durations, double seconds);
// Returns how many percent are at most `ms`; 100 for an empty list.
double durations_share(const struct durations *durations, double ms);
// Sorts them, and prints the quantiles and a line for each bin that has any.
void durations_print(struct durations *durations, const char *title);
void durations_finish(struct durations *durations);
