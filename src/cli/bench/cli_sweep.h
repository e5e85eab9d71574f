// The plot of `glinfer bench --svg`: tokens a second over the length of the prompt.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cli_sweep_point {
    char series[240];    // the line that it belongs to, such as "llama 135M Q4_1"
    uint32_t n_prompt;   // at least 1
    double rate, stddev; // tokens a second
};

// Points of a line are connected in the order in which they come.
void cli_sweep_print(FILE *file, const char *device, const struct cli_sweep_point *points,
                     size_t n);
