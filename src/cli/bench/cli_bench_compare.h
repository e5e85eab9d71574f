// An earlier `glinfer bench -o json` or jsonl (llama-bench's as well) to compare results with.
#ifndef CLI_BENCH_COMPARE_H
#define CLI_BENCH_COMPARE_H

#include "cli/bench/cli_bench_result.h"

#include <stdio.h>

struct cli_baseline;

// Reads the file; NULL with the reason printed.
struct cli_baseline *cli_baseline_load(const char *path);
void cli_baseline_destroy(struct cli_baseline *baseline);
// Prints one sentence: faster, slower or the same as the row of the same model and test, by how
// much, and what chance explains.
void cli_baseline_print(FILE *file, const struct cli_baseline *baseline,
                        const struct cli_bench_result *result);

#endif
