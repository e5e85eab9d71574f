// One test of `glinfer bench` and its measurements.
#pragma once

#include "glinfer.h"

#define CLI_BENCH_MAX_RUNS 1000

struct cli_bench_result {
    const char *model_path;
    const struct glinfer_model_info *model;
    const struct glinfer_device_info *device;
    uint32_t n_ubatch, n_prompt, n_gen, n_depth;
    uint32_t n_parallel; // sequences at once
    const char *type_k, *type_v;
    enum glinfer_dispatch dispatch; // of decode steps
    float temperature;              // 0: the likeliest token, not sampled
    char test_time[24];             // ISO 8601, UTC
    size_t n_run;
    uint64_t ns[CLI_BENCH_MAX_RUNS];
    uint64_t weight_bytes; // that a decode step reads
    double memory_rate;    // GB/s that the device moves at most; 0: not measured
    double ttft_ms;        // mean
    uint64_t peak_memory;
};

// Mean and standard deviation of the runs, nanoseconds and tokens a second; of tests that only
// decode also GB/s of weights and their share of memory_rate, 0 for others.
struct cli_bench_figures {
    double avg_ns, stddev_ns, avg_ts, stddev_ts;
    double weight_rate, memory_share;
};
struct cli_bench_figures cli_bench_figures(const struct cli_bench_result *result);
// Returns the tokens a second of run i.
double cli_bench_rate(const struct cli_bench_result *result, size_t i);

// Writes "pp512", "tg128", "pp512+tg128", of a speech model "enc30s" and "enc7.68s+tg16", with "
// x4" if four sequences generate at once, " t0.8" if tokens are sampled, " @ d4096" at a depth.
void cli_bench_label(const struct cli_bench_result *result, char *text, size_t size);
