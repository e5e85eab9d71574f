// An earlier `glinfer bench -o json` or jsonl (llama-bench's as well) to compare results with.
#ifndef CLI_BENCH_COMPARE_H
#define CLI_BENCH_COMPARE_H

#include "cli/bench/cli_bench_result.h"

#include <cjson/cJSON.h>
#include <stdio.h>

// Returns the rows of the file, an array of objects; NULL with the reason printed.
cJSON *cli_baseline_load(const char *path);
// Prints one sentence: whether a result is faster or slower than the row of the same model and
// test, by how much, and the difference that noise explains.
void cli_baseline_print(FILE *file, const char *path, const cJSON *rows,
                        const struct cli_bench_result *result);

#endif
