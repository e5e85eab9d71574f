// The output formats of `glinfer bench`: llama-bench's columns in its order, then ours.
#pragma once

#include "cli/bench/cli_bench_result.h"

#include <stdio.h>

enum cli_bench_format {
    CLI_BENCH_NONE,
    CLI_BENCH_CSV,
    CLI_BENCH_JSON,
    CLI_BENCH_JSONL,
    CLI_BENCH_MD,
    CLI_BENCH_SQL,
};
extern const char *const cli_bench_formats[]; // their names, in this order, then NULL

struct cli_bench_printer {
    enum cli_bench_format format;
    FILE *file;
    bool has_ubatch, has_type_k, has_type_v; // columns of md: set where not the default
    bool has_ms;                             // column of md: of speech models
    bool is_wide;                            // all columns of md, not those of 120 characters
    size_t n_row;                            // printed so far
    double memory_rate;                      // that the rows give a share of, GB/s; 0: none does
};

// Begins, prints a row at once, ends what was begun.
void cli_bench_begin(struct cli_bench_printer *printer);
void cli_bench_row(struct cli_bench_printer *printer, const struct cli_bench_result *result);
void cli_bench_end(struct cli_bench_printer *printer);
