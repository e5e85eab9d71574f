// A test of one program: runs one dispatch of a recorded list on the inputs in the session's
// buffers and compares its results with a computation in double. Each kernel has a check function,
// selected by enum gi_program_id, which uses the functions of this header. A test owns memory that
// lives as long as the test.
#pragma once

#include "engine/model/model.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/step_state.h"
#include "reference/reference.h"

#define GI_TEST_MEMORY 128

struct gi_test {
    struct gi_gpu *gpu; // borrowed, as all pointers up to sample
    const struct gi_graph *graph;
    const struct gi_joint *joint;   // of a joint list; NULL: not joint
    struct gi_dispatch_table *list; // sealed
    uint32_t entry;
    const struct gi_dispatch *dispatch;    // of the entry
    const struct gi_program_key *key;      // of its program
    const struct gi_weight_sample *sample; // of the weights at binding 2; NULL: none
    uint32_t n_past, n_tokens;             // as in state
    struct gi_step_state state;            // copy of that on the GPU
    uint32_t run_past, run_tokens;         // values that the grid is computed from
    // In a joint list, an entry of all slots is tested for this one, and state is that of the slot.
    uint32_t slot;
    uint32_t params[64]; // of the dispatch
    double tolerance;    // relative to the sum of magnitudes in a result

    // Results.
    uint32_t n_checked;
    uint32_t n_infinite; // expected values that are not finite: not compared
    double worst;        // largest error, relative to the tolerance
    char where[120];     // describes the first wrong value; "": none
    bool has_failed;     // the GPU or an allocation failed, with *err set
    struct glinfer_error *err;
    void *memory[GI_TEST_MEMORY];
    uint32_t n_memory;
};

// Frees the test's memory except the first n_memory allocations.
void gi_test_rewind(struct gi_test *test, uint32_t n_memory);

// Returns true if the entry computes all slots of a joint list.
bool gi_test_is_of_slots(const struct gi_test *test);

// Allocates zeroed memory that the test owns. Returns NULL with has_failed.
void *gi_test_memory(struct gi_test *test, size_t count, size_t size);
// Reads n words from word `first` of a binding. Returns NULL with has_failed.
uint32_t *gi_test_words(struct gi_test *test, uint32_t binding, uint64_t first, size_t n);
// Reads n words of each token's row, from word `first` of a binding, with a stride. Returns NULL
// with has_failed.
float *gi_test_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                    size_t n);
// Runs the dispatch with the grid for run_past and run_tokens.
void gi_test_run(struct gi_test *test);
// Writes test->state to the list's step_state, or to that of the slot.
void gi_test_write_state(struct gi_test *test);
// Writes n words from word `first` of a binding.
void gi_test_write(struct gi_test *test, uint32_t binding, uint64_t first, const void *words,
                   size_t n);

#define GI_TEST_POISON 0x7FE5A5A5u // not a number

// Overwrites n words from word `first` of a binding with GI_TEST_POISON, which no result equals, so
// that missing results are found. Does nothing if that memory is of another binding, which the
// dispatch does not write.
void gi_test_poison(struct gi_test *test, uint32_t binding, uint64_t first, size_t n);
// Expects that the dispatch wrote n poisoned words; first: index of the first one, for messages.
void gi_test_expect_written(struct gi_test *test, const char *what, uint64_t first,
                            const void *words, size_t n);
// Records an error in a row of a token, unless the test has found one before.
void gi_test_fail(struct gi_test *test, const char *what, uint32_t row, uint32_t token);

// Compares a result. magnitude: sum of the magnitudes in the result.
void gi_test_expect(struct gi_test *test, const char *what, uint64_t index, double expected,
                    double magnitude, double got);
// Returns true for the program that packs rows (ops/gemm/pack_rows.h) and those that read them.
bool gi_test_is_packed(const struct gi_program_key *key);
// Returns the value of a define of the program; 0 if it is not defined.
int32_t gi_test_define(const struct gi_test *test, const char *name);

//-- checks ----------------------------------------------------------------------------------------

typedef void (*gi_test_check)(struct gi_test *test);

// Checks a kernel that has a reference (src/reference).
void gi_check_reference(struct gi_test *test);
// Compares a dispatch with its reference, whose inputs are of a seed.
void gi_test_compare(struct gi_test *test, uint32_t seed);
void gi_check_adjusted(struct gi_test *test);
void gi_check_gemm(struct gi_test *test);
void gi_check_embed(struct gi_test *test);
void gi_check_sampled(struct gi_test *test);
void gi_check_full_bins(struct gi_test *test);

// Return the row of the i'th sampled row, and the number of sampled rows.
static inline uint32_t gi_test_sampled_row(const struct gi_test *test, uint32_t i)
{
    return test->sample->tiles[i / GI_TILE_ROWS] * GI_TILE_ROWS + i % GI_TILE_ROWS;
}

static inline uint32_t gi_test_n_sampled(const struct gi_test *test)
{
    return test->sample->n_tiles * GI_TILE_ROWS;
}
