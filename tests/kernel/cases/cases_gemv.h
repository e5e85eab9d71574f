// Shared by the cases of the gemv kernels: the weight types and the forms of a kernel that they
// are run with, a stream of random contents, and results held to the reference.
#ifndef CASES_GEMV_H
#define CASES_GEMV_H

#include "ops/gemv/gemv.h"
#include "tests/kernel/fixture/kernel_test.h"
#include "tests/ref/ref_gemv.h"

#define KT_GEMV_NORM_EPS 1e-5f

enum {
    KT_GEMV_TYPES = 5,  // weight types that all kernels are tested with
    KT_GEMV_SHAPES = 5, // the number of shapes of all kernels, which come first
    KT_GEMV_DOTS = 10,  // the number that then differ in the dot product,
    KT_GEMV_HALVES = 5, // the last of them with products in f16,
    KT_GEMV_NAMED = 15, // which GLINFER_GEMV names; then
    KT_GEMV_STAGES = 5, // stages of one dispatch each
};

// The cases of a kernel are all types and shapes of each row of its table of sizes.
struct kt_gemv_variant {
    uint32_t type; // enum gi_ggml_type
    size_t size;   // row of the table
    size_t shape;
};
struct kt_gemv_variant kt_gemv_variant_at(size_t index);
// Writes the type and the shape, followed by a blank; returns the number of characters.
int kt_gemv_print(const struct kt_gemv_variant *variant, char *text, size_t size);
// Returns true if the device's groups are large enough for it. Those of 1,024 run only where there
// are subgroups.
bool kt_gemv_fits(const struct kt_run *run, const struct kt_gemv_variant *variant);
// Makes the ops of the case take the variant's shape.
bool kt_gemv_set_shape(struct kt_run *run, const struct kt_gemv_variant *variant);
// Returns the tolerance of a result of the selected shape, in units of FLT_EPSILON * magnitude.
double kt_gemv_roundings(void);

// A stream with random contents, and the same on the CPU.
struct kt_gemv_stream {
    struct gi_stream stream;
    float *values; // the whole range; freed by the caller
    double inv_rms;
};
bool kt_gemv_stream_init(struct kt_gemv_stream *test, struct kt_run *run, uint32_t n_embd,
                         uint32_t n_rot, uint32_t n_ssq);
// Random x in a range; n_cols is rounded up to 32 there. Freed by the caller.
float *kt_gemv_x(struct kt_run *run, uint32_t n_cols, struct gi_range *range);

// Holds n values of the range, from offset bytes on, to the reference.
bool kt_gemv_compare(struct kt_run *run, const char *what, const struct gi_range *range,
                     size_t offset, const struct ref_value *values, size_t n);
// The same for f16 values.
bool kt_gemv_compare_f16(struct kt_run *run, const char *what, const struct gi_range *range,
                         size_t offset, const struct ref_value *values, size_t n);

#endif
