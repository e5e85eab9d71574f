// A test of one program: a dispatch of a recorded list is run by itself, on the inputs that lie in
// the session's buffers, and what it writes is compared with the same worked out here in double.
// The checks of the kernels are one function each (enum gi_program_id chooses it); these are the
// functions that they use. Nothing here outlives a test.
#ifndef GI_ENGINE_TEST_CASE_H
#define GI_ENGINE_TEST_CASE_H

#include "engine/run/tables.h"
#include "gpu/dispatch/step_state.h"

#define GI_TEST_MEMORY 128

struct gi_test {
    struct gi_gpu *gpu; // borrowed, as all of these
    const struct gi_graph *graph;
    const struct gi_joint *joint;   // of a joint list; NULL: of another
    struct gi_dispatch_table *list; // sealed
    uint32_t entry;
    const struct gi_dispatch *dispatch;    // of the entry
    const struct gi_program_key *key;      // of its program
    const struct gi_weight_sample *sample; // of the weights at binding 2; NULL: none
    uint32_t n_past, n_tokens;             // as in state
    struct gi_step_state state;            // as it is on the GPU
    uint32_t run_past, run_tokens;         // that grids are counted for
    // In a joint list an entry of all slots is seen as what it does for this one: the bindings
    // begin so many bytes later, and state is the slot's.
    uint32_t slot;
    uint64_t slot_begins[GI_MAX_BINDINGS];
    struct gi_kv_layer layer; // the last that gi_test_layer returned
    uint32_t params[64];      // of the dispatch
    double tolerance;         // of the sum of magnitudes that went into a result

    // The outcome.
    uint32_t n_checked;
    uint32_t n_infinite; // values that are left out, since they should not be finite
    double worst;        // error, in shares of what is tolerated
    char where[120];     // of the first value that is wrong; "": none
    bool has_failed;     // GPU or memory did, with *err
    struct glinfer_error *err;
    void *memory[GI_TEST_MEMORY];
    uint32_t n_memory;
};

// Frees the test's memory but the first n_memory pieces.
void gi_test_rewind(struct gi_test *test, uint32_t n_memory);

// True if the entry works for all slots of a joint list.
bool gi_test_is_of_slots(const struct gi_test *test);
// Sets where the bindings of the slot begin. params are read.
void gi_test_find_slot(struct gi_test *test);

// Returns zeroed memory of the test; NULL with has_failed.
void *gi_test_memory(struct gi_test *test, size_t count, size_t size);
// Returns the words of a binding, from where the slot's begin.
size_t gi_test_size(const struct gi_test *test, uint32_t binding);
// Reads n words from word `first` of a binding, as floats or bits. NULL with has_failed.
float *gi_test_floats(struct gi_test *test, uint32_t binding, uint64_t first, size_t n);
uint32_t *gi_test_words(struct gi_test *test, uint32_t binding, uint64_t first, size_t n);
// Reads n words of each token's row, from word `first` of a binding, with a stride. NULL with
// has_failed.
float *gi_test_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                    size_t n);
// Returns the token to compare after `token` where each has a row of n values, n_tokens or more at
// the end: all tokens, or some of a large batch; of rows in f16, which are read one at a time, the
// first, the middle and the last.
uint32_t gi_test_next_token(const struct gi_test *test, uint32_t token, uint64_t n, bool is_half);
// Runs the dispatch, and all that its grid says for n_past and n_tokens.
void gi_test_run(struct gi_test *test);
// Writes the list's step_state, or that of the slot, as test->state is now.
void gi_test_write_state(struct gi_test *test);
// Writes n words from word `first` of a binding.
void gi_test_write(struct gi_test *test, uint32_t binding, uint64_t first, const void *words,
                   size_t n);

#define GI_TEST_POISON 0x7FE5A5A5u // not a number

// Writes GI_TEST_POISON, which no result is, over n words from word `first` of a binding, so that
// results that the dispatch leaves out show. Does nothing if the dispatch reads that memory by
// another binding.
void gi_test_poison(struct gi_test *test, uint32_t binding, uint64_t first, size_t n);
// Poisons n words of each token's row, from word `first` of a binding, with a stride.
void gi_test_poison_rows(struct gi_test *test, uint32_t binding, uint64_t first, uint64_t stride,
                         size_t n);
// Expects that the dispatch wrote n words that were poisoned, `first` being the index of the first.
void gi_test_expect_written(struct gi_test *test, const char *what, uint64_t first,
                            const void *words, size_t n);
// Expects that the dispatch wrote the first n words of the rows of all tokens, which were poisoned;
// NULL: expects nothing.
void gi_test_expect_rows(struct gi_test *test, const char *what, const float *rows, uint64_t stride,
                         size_t n);
// Records a fault of a row of a token, unless the test has found one before.
void gi_test_fail(struct gi_test *test, const char *what, uint32_t row, uint32_t token);

// Compares a result; magnitude is the sum of the magnitudes that went into it.
void gi_test_expect(struct gi_test *test, const char *what, uint64_t index, double expected,
                    double magnitude, double got);
// Compares sums of 16 neighbours each of n values (glsl/norm/sums.glsl); sums may be NULL.
void gi_test_expect_sums(struct gi_test *test, const float *values, const float *sums, uint32_t n);
// Returns the value of a define of the program's key, 0 without it.
int32_t gi_test_define(const struct gi_test *test, const char *name);

//-- weights ---------------------------------------------------------------------------------------

struct gi_test_value {
    double value, magnitude;
};
// Works out row `row` of the sampled weights times x, plus the bias at word `bias` of aux
// (GI_NO_OFFSET: none). Returns false if the row is not in the sample, or has_failed.
bool gi_test_dot(struct gi_test *test, uint32_t row, const float *x, uint32_t bias,
                 struct gi_test_value *y);

//-- the cache -------------------------------------------------------------------------------------

// Returns the layer whose cache lies at a binding, NULL if none does: that of the slot, until the
// next call.
const struct gi_kv_layer *gi_test_layer(struct gi_test *test, uint32_t binding);
// Reads keys or values of a head at positions first ... first + n - 1: (n, head_dim), NULL with
// has_failed.
float *gi_test_cache(struct gi_test *test, const struct gi_kv_layer *layer, bool is_key,
                     uint32_t head, uint32_t first, uint32_t n);
// Writes random keys and values at the first n positions of all heads.
void gi_test_fill_cache(struct gi_test *test, const struct gi_kv_layer *layer, uint32_t n);
// Poisons keys and values of all heads at n positions from `first` on.
void gi_test_poison_cache(struct gi_test *test, const struct gi_kv_layer *layer, uint32_t first,
                          uint32_t n);
// Expects that keys or values of a head at n positions that were poisoned are written.
void gi_test_expect_cache_written(struct gi_test *test, const struct gi_kv_layer *layer,
                                  bool is_key, uint32_t head, uint32_t first, uint32_t n);
// Compares what was written at a position: with the rounding of the cache's type.
void gi_test_expect_cache(struct gi_test *test, const struct gi_kv_layer *layer, bool is_key,
                          uint32_t head, uint32_t position, const struct gi_test_value *expected);

//-- checks ----------------------------------------------------------------------------------------

typedef void (*gi_test_check)(struct gi_test *test);
// Returns the check of a program, NULL if there is none.
gi_test_check gi_test_find_check(enum gi_program_id id);

// Checks a kernel that has a reference (src/reference).
void gi_check_reference(struct gi_test *test);
void gi_check_adjusted(struct gi_test *test);
void gi_check_gemv_qkv(struct gi_test *test);
void gi_check_gemv_residual(struct gi_test *test);
void gi_check_gemv_glu(struct gi_test *test);
void gi_check_gemv_vocab(struct gi_test *test);
void gi_check_gemv_plain(struct gi_test *test);
void gi_check_gemv_expert_glu(struct gi_test *test);
void gi_check_gemv_expert(struct gi_test *test);
void gi_check_gemm(struct gi_test *test);
void gi_check_sort_experts(struct gi_test *test);
void gi_check_gather_rows(struct gi_test *test);
void gi_check_embed_token(struct gi_test *test);
void gi_check_embed_batch(struct gi_test *test);
void gi_check_gemv_post(struct gi_test *test);
void gi_check_last_row(struct gi_test *test);
void gi_check_rmsnorm(struct gi_test *test);
void gi_check_layernorm(struct gi_test *test);
void gi_check_post_norm(struct gi_test *test);
void gi_check_half_rows(struct gi_test *test);
void gi_check_pack_rows(struct gi_test *test);
void gi_check_glu(struct gi_test *test);
void gi_check_route(struct gi_test *test);
void gi_check_add_experts(struct gi_test *test);
void gi_check_rope_kv(struct gi_test *test);
void gi_check_attention(struct gi_test *test);
void gi_check_attention_batch(struct gi_test *test);
void gi_check_attention_qkv(struct gi_test *test);
void gi_check_logit_rows(struct gi_test *test);
void gi_check_logprob(struct gi_test *test);
void gi_check_sampled(struct gi_test *test);
void gi_check_full_bins(struct gi_test *test);

// Adds up sums of a parted residual (ops/record/stream.h), vec4 of a binding from float `at` on: of
// r^2, r u, u^2 and y^2. Returns false with has_failed.
bool gi_test_add_part_sums(struct gi_test *test, uint32_t binding, uint64_t at, uint32_t n,
                           double sums[4]);
// Adds to x, which begins at a float of binding 1, what lies behind it in a parted residual, times
// its scale.
void gi_test_add_second(struct gi_test *test, uint64_t begin, float *x);

// Returns row i of those of a part that were kept; how many these are.
static inline uint32_t gi_test_sampled_row(const struct gi_test *test, uint32_t i)
{
    return test->sample->tiles[i / GI_TILE_ROWS] * GI_TILE_ROWS + i % GI_TILE_ROWS;
}

static inline uint32_t gi_test_n_sampled(const struct gi_test *test)
{
    return test->sample->n_tiles * GI_TILE_ROWS;
}
// Returns the place of a bias if the program has one.
static inline uint32_t gi_test_own_bias(const struct gi_test *test, uint32_t bias)
{
    return gi_test_define(test, "HAS_BIAS") ? bias : GI_NO_OFFSET;
}

#endif
