// An earlier `glinfer bench -o json` or jsonl (llama-bench's as well) to compare results with.
#pragma once

#include "cli/bench/cli_bench_result.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

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

// Returns the rows of the file, an array of objects; NULL with the reason printed.
cJSON *cli_baseline_load(const char *path);
// Prints one sentence: whether a result is faster or slower than the row of the same model and
// test, by how much, and the difference that noise explains.
void cli_baseline_print(FILE *file, const char *path, const cJSON *rows,
                        const struct cli_bench_result *result);
