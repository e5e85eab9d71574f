// `glinfer bench` measures tokens a second: what its flags set, and the command.
#pragma once

#include "cli/bench/cli_bench_print.h"
#include "cli/common/cli_session.h"
#include "cli/sampling/cli_sampling.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_MAX_LIST 64
struct cli_list {
    int64_t items[CLI_MAX_LIST];
    size_t count;
};

struct cli_pair {
    int64_t prompt, gen;
};
struct cli_pairs {
    struct cli_pair items[CLI_MAX_LIST];
    size_t count;
};

// Parse functions of struct cli_flag: append the numbers, 0 to 2^24, to the list (field).
bool cli_list_parse(const char *text, void *field, char *why, size_t size);
bool cli_pairs_parse(const char *text, void *field, char *why, size_t size);

struct cli_bench_settings {
    struct cli_session_flags session; // gets model, n_batch and types from the lists in turn
    struct cli_texts models;
    struct cli_list n_prompt, n_gen, n_depth, n_ubatch;
    struct cli_pairs pairs;
    struct cli_list types_k, types_v; // enum glinfer_cache_type
    int64_t n_run, delay;
    struct cli_list n_parallel; // sequences of tests that only generate
    struct cli_sampling sampling;
    int output, output_err; // enum cli_bench_format
    bool has_progress, has_no_warmup;
    const char *compare, *svg; // files
};

// Sets lists that are still empty to llama-bench's defaults.
void cli_bench_fill(struct cli_bench_settings *settings);
// Runs the command; settings are a struct cli_bench_settings.
bool cli_bench(void *settings);
