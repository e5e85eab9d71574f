// The output formats of `glinfer bench`: llama-bench's columns in its order, ours behind them.
#ifndef CLI_BENCH_PRINT_H
#define CLI_BENCH_PRINT_H

#include "glinfer.h"

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

#define CLI_BENCH_MAX_RUNS 1000

// One test and its measurements.
struct cli_bench_result {
    const char *model_path;
    const struct glinfer_model_info *model;
    const struct glinfer_device_info *device;
    uint32_t n_ubatch, n_prompt, n_gen, n_depth;
    const char *type_k, *type_v;
    enum glinfer_dispatch dispatch; // of decode steps
    float temperature;              // 0: always the likeliest token
    char test_time[24];             // ISO 8601, UTC
    size_t n_run;
    uint64_t ns[CLI_BENCH_MAX_RUNS];
    uint64_t weight_bytes; // that a decode step reads
    double memory_rate;    // GB/s that the device moves at most; 0: not measured
    double ttft_ms;        // mean
    uint64_t peak_memory;
};

struct cli_bench_printer {
    enum cli_bench_format format;
    FILE *file;
    bool has_ubatch, has_type_k, has_type_v; // columns of md: set where not the default
    size_t n_row;                            // printed so far
    double memory_rate; // of the rows that give a share of it, GB/s; 0: none does
};

// Rows appear as they are printed; end closes what begin opened.
void cli_bench_begin(struct cli_bench_printer *printer);
void cli_bench_row(struct cli_bench_printer *printer, const struct cli_bench_result *result);
void cli_bench_end(struct cli_bench_printer *printer);

// Tokens a second: mean and standard deviation of the runs.
void cli_bench_rate(const struct cli_bench_result *result, double *mean, double *stddev);
// "pp512", "tg128", "pp512+tg128", with " t0.8" where tokens are sampled, " @ d4096" at a depth.
void cli_bench_label(const struct cli_bench_result *result, char *text, size_t size);

#endif
