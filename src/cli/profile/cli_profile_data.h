// Keeps what `glinfer profile` measured for its outputs: a table, JSON, a trace, a roofline.
#pragma once

#include "glinfer.h"

#include <stdio.h>

#define CLI_PROGRAM_SIZE 192
struct cli_profile_kernel {
    struct glinfer_profile_kernel figures; // its label and program are NULL: they are copied below
    char label[40], program[CLI_PROGRAM_SIZE];
};

struct cli_profile_dispatch {
    struct glinfer_profile_dispatch figures; // its label and program are NULL
    char label[40], program[CLI_PROGRAM_SIZE];
};

// Decode steps, a prompt, or the encoder of a speech model.
struct cli_profile_stage {
    char name[64];    // "decode step at depth 0", "prompt of 128 tokens at depth 0"
    const char *kind; // "decode", "prompt" or "sound"
    uint32_t n_prompt, depth;
    struct glinfer_profile_stats stats;
    struct {
        struct cli_profile_kernel *items; // owned; the longest time first
        size_t count, capacity;
    } kernels;
    struct {
        struct cli_profile_dispatch *items; // owned
        size_t count, capacity;
    } dispatches;
};

struct cli_profile_data {
    const char *model, *device; // for people
    struct glinfer_device_rates rates;
    struct cli_profile_stage stages[2];
    size_t n_stage;
};

// The on_kernel and on_dispatch of glinfer_profile_params; user is the stage.
void cli_profile_add_kernel(void *user, const struct glinfer_profile_kernel *kernel);
void cli_profile_add_dispatch(void *user, const struct glinfer_profile_dispatch *dispatch);
void cli_profile_finish(struct cli_profile_data *data);

// Returns the GB/s that the device moves at most: the better of copying and reading.
double cli_profile_memory_rate(const struct cli_profile_data *data);
// Returns a kernel's share of its attainable rate: the lower limit of arithmetic and memory. 0 if
// the bytes that the kernel reads are unknown.
double cli_profile_roof_share(const struct cli_profile_data *data,
                              const struct glinfer_profile_kernel *kernel);

// Prints Chrome's trace events, as Perfetto opens them: the dispatches of one run of each stage,
// and the host's submitting.
//   https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
void cli_trace_print(FILE *file, const struct cli_profile_data *data);
