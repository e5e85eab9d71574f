// The mathematics of the kernels in double, once: from a recorded dispatch and the contents of its
// bindings, a reference computes the words that the dispatch must write. The self-test on the
// user's driver and the kernel tests run the same references; the engine's answers are compared
// with those of independent engines (tests/golden), so that a mistake in a reference shows.
//
// A reference reads bindings through its caller, who has them on the GPU or in memory, and lists
// the results; the caller then runs the dispatch and compares. Plain C without GL.
#pragma once

#include "gpu/dispatch/dispatch_table.h"
#include "gpu/dispatch/step_state.h"
#include "ops/record/activation.h"

#define GI_REF_NONE UINT32_MAX // an offset of something that a kernel does not have

struct gi_ref_value {
    double value, magnitude; // magnitude: the sum of the magnitudes that went into the value
};

// How a result lies in its word. Part i counts halves, bytes or nibbles, the lowest first.
enum gi_ref_form {
    GI_REF_F32,
    GI_REF_F16,
    GI_REF_F16_SIZE, // its magnitude is expected
    GI_REF_Q8_0,     // a byte times a half
    GI_REF_Q4_0,     // a nibble less 8, times a half
    GI_REF_TILE_F16, // a half times a float
    GI_REF_BITS,     // the word as a whole number
    GI_REF_DERIVED,  // `found` of the result, not a word
};
struct gi_ref_place {
    enum gi_ref_form form;
    uint32_t part;
    uint64_t scale; // of a form with a factor: its index in halves of the binding
};

// A word that the dispatch has to write.
struct gi_ref_result {
    const char *what; // a literal
    uint32_t binding;
    uint64_t at;    // index of the word in the binding
    uint32_t n_sum; // words from `at` on whose sum is expected; mostly 1
    struct gi_ref_value expected;
    double roundings; // of the magnitude, in FLT_EPSILON, that it may be off
    double slack;     // that it may be off in addition; of a form with a factor, times that
    struct gi_ref_place place;
    double found; // of GI_REF_DERIVED
};

// n words of a binding.
struct gi_ref_words {
    const char *what; // a literal
    uint32_t binding;
    uint64_t first, n;
};
struct gi_ref_words_list {
    struct gi_ref_words *data;
    size_t count, capacity;
};

// All-zero but for what the caller sets.
struct gi_ref {
    // Set by the caller.
    const struct gi_dispatch *dispatch;
    const struct gi_program_key *key;
    const void *params; // struct gi_<kernel>_params
    uint32_t n_past, n_tokens;
    uint32_t token;  // of step_state
    uint32_t slot;   // of a dispatch for all slots of a joint list: the one to compute
    bool is_sampled; // a part of a large result is enough
    // Copies n words of a binding, from word `first` on, to words.
    bool (*read)(void *user, uint32_t binding, uint64_t first, size_t n, void *words);
    // Writes n words of an input, of which the caller has not all.
    bool (*write)(void *user, uint32_t binding, uint64_t first, size_t n, const void *words);
    // Dequantises a row of the weights at binding 2, n_col floats. Returns false for a row that the
    // caller does not know.
    bool (*weight)(void *user, uint32_t row, float *values);
    uint32_t n_col;
    uint32_t seed; // of inputs that the reference writes
    void *user;
    struct glinfer_error *err;

    // The outcome.
    bool has_failed; // read or an allocation failed, with *err set
    struct gi_ref_words_list reads;
    struct gi_ref_words_list written; // every word of them has to be written
    struct gi_ref_words_list scratch; // may be written
    // Set by a reference whose further results depend on what the dispatch wrote; NULL: none do.
    void (*after)(struct gi_ref *ref);
    const void *kept; // data for `after`, of gi_ref_memory; NULL: none
    double roundings; // of the results to come; at first the kernel's
    struct {
        struct gi_ref_result *data;
        size_t count, capacity;
    } results;
    struct {
        void **data;
        size_t count, capacity;
    } memory;
};

// A kernel: its programs, and how far their results may be off.
struct gi_kernel {
    enum gi_program_id first, last;
    void (*reference)(struct gi_ref *ref);
    double roundings; // of the magnitude of a result, in FLT_EPSILON
    uint32_t filled;  // bit i: the self-test fills binding i, which may hold halves
};

#define GI_KERNEL(first, last, name, ...) void gi_ref_##name(struct gi_ref *ref);
#include "glsl/programs.def"

// Returns the kernel of a program; NULL if there is no reference of it.
const struct gi_kernel *gi_kernel_find(enum gi_program_id id);
// Runs a kernel's reference and sorts its results by binding and word. Returns false with *err set.
bool gi_kernel_work_out(const struct gi_kernel *kernel, struct gi_ref *ref);
// Adds the results that depend on what the dispatch wrote, once it has run.
bool gi_kernel_work_out_after(struct gi_ref *ref);
// Returns true if the reference read one of n words, so that the dispatch needs what is there.
bool gi_ref_is_input(const struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t n);
// Returns the end of the results from `first` on that lie in one binding, at most `gap` other words
// between two of them.
size_t gi_ref_run_end(const struct gi_ref *ref, size_t first, uint64_t gap);
// A result that was found, and how far it may be off in addition to its roundings.
struct gi_ref_found {
    double value, slack;
};
// Returns what words from `first` on have of a result. scales: words from `first_scale` on of a
// form with a factor.
struct gi_ref_found gi_ref_found(const struct gi_ref_result *result, const uint32_t *words,
                                 uint64_t first, const uint32_t *scales, uint64_t first_scale);
// Frees the results and the memory of a reference. Accepts all-zero.
void gi_ref_finish(struct gi_ref *ref);

//-- for references --------------------------------------------------------------------------------

// Returns zeroed memory, which lives until gi_ref_finish or gi_ref_rewind; NULL with has_failed.
void *gi_ref_memory(struct gi_ref *ref, size_t count, size_t size);
// Frees the memory that was taken since memory.count was n.
void gi_ref_rewind(struct gi_ref *ref, size_t n);
// Returns n words of a binding; NULL with has_failed.
const float *gi_ref_floats(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n);
// Returns the rows of all tokens, n words of each from word `first` on, with a stride in words;
// NULL with has_failed.
const float *gi_ref_rows(struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t stride,
                         size_t n);
// Computes a row of the weights times x (n_col). Returns false if the row is not known.
bool gi_ref_dot(struct gi_ref *ref, uint32_t row, const float *x, struct gi_ref_value *y);
// Returns the value of a define of the program, 0 if it has none.
uint32_t gi_ref_define(const struct gi_ref *ref, const char *name);
// Returns the item to work out after item i of n: the next one, or a later one if the reference is
// sampled and all of them have many values. The last item is never left out.
uint32_t gi_ref_next(const struct gi_ref *ref, uint32_t i, uint32_t n, uint64_t n_value);
// Returns an index that a kernel wrote as a float, at most n - 1 whatever was written.
uint32_t gi_ref_index(float value, uint32_t n);
// Lists a result.
void gi_ref_expect(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                   double value, double magnitude);

// Lists a result that does not have its word for itself, or that may be off by more.
void gi_ref_expect_at(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                      struct gi_ref_place place, struct gi_ref_value expected, double slack);
// Lists a word whose bits are expected.
void gi_ref_expect_bits(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                        uint32_t bits);
// Lists what an `after` has found in n words.
void gi_ref_expect_found(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                         uint32_t n, struct gi_ref_value expected, double found);
// Lists n words that the dispatch has to write; in addition to results, of which a sampled
// reference may have computed a part.
void gi_ref_expect_written(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t first,
                           uint64_t n);
// Lists n words that the dispatch may write.
void gi_ref_add_scratch(struct gi_ref *ref, uint32_t binding, uint64_t first, uint64_t n);
// Writes n words of an input.
void gi_ref_write(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n,
                  const void *words);
// Writes n words that are random in the bits of mask, and `bits` elsewhere.
void gi_ref_fill(struct gi_ref *ref, uint32_t binding, uint64_t first, size_t n, uint32_t mask,
                 uint32_t bits);
// Lists the sum of n words that the dispatch may share among them.
void gi_ref_expect_sum(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                       uint32_t n, double value, double magnitude);
// Lists the sum of the squares of a residual of n values, a word from each group.
void gi_ref_expect_squares(struct gi_ref *ref, uint32_t binding,
                           const struct gi_ref_value *residual, uint32_t n, uint32_t ssq);
// Lists the inputs of the product that follows a residual of n values: their products with gamma,
// a vector at binding 2; the sums of these by 16 if the program has WRITE_SUMS; and the sum of the
// residual's squares.
void gi_ref_expect_norm(struct gi_ref *ref, uint32_t binding, const struct gi_ref_value *residual,
                        uint32_t n, uint32_t gamma, uint32_t norm, uint32_t ssq);

// Lists the sums of each 16 neighbours of n floats (glsl/norm/sums.glsl), from word `at` on, which
// a dispatch wrote like the floats.
void gi_ref_expect_sums(struct gi_ref *ref, uint32_t binding, uint64_t first, uint32_t n,
                        uint64_t at);

// Returns an integer that orders as a float does; zeros of both signs are equal.
uint32_t gi_ref_key(float value);
// Sorts n ids by their logits, the largest first; ids of equal logits stay in their order. room: n
// words.
void gi_ref_sort_ids(const float *logits, uint32_t *ids, uint32_t n, uint32_t *room);
struct gi_ref_filter {
    uint32_t top_k; // 0: off
    double top_p;   // 1: off
    double min_p;   // 0: off
};
// Returns how many of n sorted ids the filters pass: the top_k first; of those the fewest whose
// share reaches top_p; of those the ones with min_p times the probability of the first.
uint32_t gi_ref_filter(const float *logits, const uint32_t *ids, uint32_t n,
                       const struct gi_ref_filter *filter);

// Lists all that the end of a step writes but its token, in the ring (binding 0), step_state (2)
// and the grids of an indirect list (3), which are NULL in another.
void gi_ref_expect_step_end(struct gi_ref *ref, const struct gi_step_state *state,
                            const struct gi_grid_slot *grids, bool is_sound, uint32_t token);
double gi_ref_mean(const float *x, uint32_t n); // of x (n)
// Returns the mean of the squares of x (n) less mean: of RMSNorm with 0, of LayerNorm its variance.
double gi_ref_mean_square(const float *x, uint32_t n, double mean);
// Returns f(x) as GI_ACTIVATION_ defines it; only GI_ACTIVATION_XIELU reads xielu.
double gi_ref_activate(uint32_t activation, const struct gi_xielu *xielu, double x);
// Returns the factor of a gated network that takes x without the activation: x, or clamped x + 1.
double gi_ref_linear_factor(uint32_t activation, double x);
double gi_ref_silu(double x);     // x / (1 + exp(-x))
double gi_ref_softplus(double x); // log(1 + exp(x))
