// Harness of kernel_test: each kernel's cases are one suite in a file of its own (cases_<area>.c),
// listed in suites.c. A case draws inputs from run->random, makes ranges (outputs poisoned with NaN,
// all of them between guard words), records with the op under test, replays, reads back and compares
// with tests/ref. Helpers that return bool have reported their failure; a case passes failures on:
//
//     return kt_seal(run) && kt_replay(run, 0, 1) && kt_compare_f32(run, "y", &y, 0, want, bound, n);
//
// The run frees what it made when the case ends.
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include "gpu/step_state.h"
#include "ops/recorder.h"
#include "ops/weight.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KT_MAX_RANGES 256

struct kt_range {
    struct gi_buffer buffer; // guard words, the range, guard words
    struct gi_range range;
};

struct kt_run {
    struct gi_gpu *gpu;          // borrowed
    struct gi_recorder recorder; // the programs are shared by all cases, the table is the case's
    uint64_t random;             // state of kt_uniform and kt_index, from the seed and the case
    bool is_bench;
    uint32_t n_copy;             // dispatches alike in the table, which a bench divides by; 0: 1
    struct gi_step_state state;  // uploaded by kt_replay
    struct gi_range step_state;  // bound as UBO 1
    struct gi_range step_counts; // of an indirect table
    const char *kernel, *case_name;
    bool has_failed;
    size_t n_range;
    struct kt_range ranges[KT_MAX_RANGES];
};

// The cases of one kernel. kernel is what --kernel matches and the ctest name: kernel.<kernel>.
struct kt_suite {
    const char *kernel;
    size_t n_case;
    // Writes the case's name: shapes and variants, "q4_0 576x1536 split".
    void (*name)(size_t index, char *text, size_t size);
    bool (*run)(struct kt_run *run, size_t index);
};

extern const struct kt_suite *const kt_suites[];       // ends with NULL
extern const struct kt_suite *const kt_bench_suites[]; // likewise; only run by --bench

// ---- reporting

// Reports a failure of the current case; returns false.
bool kt_fail(struct kt_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Memory for a reference or an input; aborts the program when there is none. Freed by the caller.
void *kt_alloc(size_t count, size_t size);

// ---- inputs

uint32_t kt_index(struct kt_run *run, uint32_t n);           // uniform in [0, n)
float kt_uniform(struct kt_run *run, float low, float high); // uniform in [low, high)
void kt_fill(struct kt_run *run, float *values, size_t n, float low, float high);

// ---- ranges of the case

// A range of size bytes (a multiple of 4) that holds data, or, with data NULL, NaN in every word.
// Its buffer is NULL on failure.
struct gi_range kt_range(struct kt_run *run, const char *label, const void *data, size_t size);
// Overwrites part of a range, in bytes.
bool kt_write(struct kt_run *run, const struct gi_range *range, size_t offset, const void *data,
              size_t size);
bool kt_read(struct kt_run *run, const struct gi_range *range, size_t offset, void *data,
             size_t size);

// ---- weights: random ones of any type, with the same values on the CPU

struct kt_weight_params {
    uint32_t type;           // enum gi_ggml_type
    uint32_t n_rows, n_cols; // n_rows is rounded up to 16, the rest is zero
    uint32_t max_part_rows;  // a multiple of 16; 0: one part
    bool is_apart;           // the second half of the rows is of up_type, in parts of its own
    uint32_t up_type;
    bool has_bias, has_gamma;
    bool is_blank; // for a bench: NaN for weights, nothing on the CPU
};

struct kt_weight {
    struct gi_weight weight; // its ranges belong to the run
    float *dense;            // (weight.n_rows, n_cols) in GPU order, dequantised
    float *bias, *gamma;     // (weight.n_rows), zeros and ones where there is none
};
// False on failure. Freed by kt_weight_finish in any case.
bool kt_weight_init(struct kt_weight *weight, struct kt_run *run,
                    const struct kt_weight_params *params);
void kt_weight_finish(struct kt_weight *weight);
// Bytes of quads and aux: what a kernel reads once.
uint64_t kt_weight_bytes(const struct gi_weight *weight);

// ---- replay

// Builds the recorded programs, holds their Params to the C structs of ops/params.h and ends the
// recording.
bool kt_seal(struct kt_run *run);
// Uploads run->state with n_past and n_tokens set, replays the table once and waits; fails on any
// error of GL or message of the driver.
bool kt_replay(struct kt_run *run, uint32_t n_past, uint32_t n_tokens);
// Under --bench replays the sealed table until the time is steady and prints one JSON line with ns,
// bytes and GB/s, each of a dispatch; else does nothing. bytes: read and written by one replay.
bool kt_bench(struct kt_run *run, uint32_t n_past, uint32_t n_tokens, uint64_t bytes);

// ---- comparing, each reads the range from offset bytes on

// |gpu - want| <= bound[i], element by element; a NaN fails.
bool kt_compare_f32(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const double *want, const double *bound, size_t n);
// The same for n f16 values (two a word).
bool kt_compare_f16(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const double *want, const double *bound, size_t n);
bool kt_compare_u32(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const uint32_t *want, size_t n);

#endif
