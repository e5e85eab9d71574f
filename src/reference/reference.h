// The mathematics of the kernels in double, once: from a recorded dispatch and the contents of its
// bindings, a reference computes the words that the dispatch must write. The self-test on the
// user's driver and the kernel tests run the same references; the engine's answers are compared
// with those of independent engines (tests/golden), so that a mistake in a reference shows.
//
// A reference reads bindings through its caller, who has them on the GPU or in memory, and lists
// the results; the caller then runs the dispatch and compares. Plain C without GL.
#ifndef GI_REFERENCE_H
#define GI_REFERENCE_H

#include "gpu/dispatch/dispatch_table.h"
#include "ops/record/activation.h"

#define GI_REF_NONE UINT32_MAX // an offset of something that a kernel does not have

struct gi_ref_value {
    double value, magnitude; // magnitude: the sum of the magnitudes that went into the value
};

// A word that the dispatch has to write.
struct gi_ref_result {
    const char *what; // a literal
    uint32_t binding;
    uint64_t at;    // index of the word in the binding
    uint32_t n_sum; // words from `at` on whose sum is expected; mostly 1
    struct gi_ref_value expected;
};

// n words of a binding that the reference read.
struct gi_ref_read {
    uint32_t binding;
    uint64_t first, n;
};

// All-zero but for what the caller sets.
struct gi_ref {
    // Set by the caller.
    const struct gi_dispatch *dispatch;
    const struct gi_program_key *key;
    const void *params; // struct gi_<kernel>_params
    uint32_t n_past, n_tokens;
    bool is_sampled; // a part of a large result is enough
    // Copies n words of a binding, from word `first` on, to words.
    bool (*read)(void *user, uint32_t binding, uint64_t first, size_t n, void *words);
    void *user;
    struct glinfer_error *err;

    // The outcome.
    bool has_failed; // read or an allocation failed, with *err set
    struct {
        struct gi_ref_read *data;
        size_t count, capacity;
    } reads;
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

// Returns the kernel of a program; NULL if there is no reference of it.
const struct gi_kernel *gi_kernel_find(enum gi_program_id id);
// Runs a kernel's reference and sorts its results by binding and word. Returns false with *err set.
bool gi_kernel_work_out(const struct gi_kernel *kernel, struct gi_ref *ref);
// Returns true if the reference read a word of a result, so that the dispatch needs what is there.
bool gi_ref_is_input(const struct gi_ref *ref, const struct gi_ref_result *result);
// Returns the end of the results from `first` on that lie in one binding, at most `gap` other words
// between two of them.
size_t gi_ref_run_end(const struct gi_ref *ref, size_t first, uint64_t gap);
// Returns a result, or the sum of its words, among words from `first` on.
double gi_ref_found(const struct gi_ref_result *result, const float *words, uint64_t first);
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
// Returns the value of a define of the program, 0 if it has none.
uint32_t gi_ref_define(const struct gi_ref *ref, const char *name);
// Returns the item to work out after item i of n: the next one, or a later one if the reference is
// sampled and all of them have many values. The last item is never left out.
uint32_t gi_ref_next(const struct gi_ref *ref, uint32_t i, uint32_t n, uint64_t n_value);
// Lists a result.
void gi_ref_expect(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                   double value, double magnitude);

// Lists the sum of n words that the dispatch may share among them.
void gi_ref_expect_sum(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                       uint32_t n, double value, double magnitude);
// Lists the inputs of the product that follows a residual of n values: their products with gamma,
// a vector at binding 2; the sums of these by 16 if the program has WRITE_SUMS; and the sum of the
// residual's squares, a word from each group.
void gi_ref_expect_norm(struct gi_ref *ref, uint32_t binding, const struct gi_ref_value *residual,
                        uint32_t n, uint32_t gamma, uint32_t norm, uint32_t ssq);

double gi_ref_mean(const float *x, uint32_t n); // of x (n)
// Returns the mean of the squares of x (n) less mean: of RMSNorm with 0, of LayerNorm its variance.
double gi_ref_mean_square(const float *x, uint32_t n, double mean);
// Returns f(x) as GI_ACTIVATION_ defines it; only GI_ACTIVATION_XIELU reads xielu.
double gi_ref_activate(uint32_t activation, const struct gi_xielu *xielu, double x);
// Returns the factor of a gated network that takes x without the activation: x, or clamped x + 1.
double gi_ref_linear_factor(uint32_t activation, double x);
double gi_ref_silu(double x);     // x / (1 + exp(-x))
double gi_ref_softplus(double x); // log(1 + exp(x))

#endif
