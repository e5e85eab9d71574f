// Compares two measurements with their spread: a difference, or noise.
#ifndef CLI_NOISE_H
#define CLI_NOISE_H

#include <stddef.h>

struct cli_sample {
    double mean, stddev; // of single runs
    size_t n;            // runs
};

enum cli_verdict {
    CLI_VERDICT_SAME,
    CLI_VERDICT_MORE,
    CLI_VERDICT_LESS,
    CLI_VERDICT_UNKNOWN, // fewer than CLI_NOISE_RUNS of either
};

// Runs that the spread needs.
#define CLI_NOISE_RUNS 3

// Welch's t-test at 95 %: sets *noise to the difference that chance explains.
enum cli_verdict cli_noise_judge(const struct cli_sample *before, const struct cli_sample *now,
                                 double *noise);

#endif
