// The forms of a product of one row with weights that the cases of the gemv kernels run with.
#pragma once

#include "ops/gemv/gemv.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#define KT_GEMV_NORM_EPS 1e-5f

// First forms of a kind: those of all kernels, of the dot product, of products in f16, of the
// largest groups, and of stages.
enum {
    KT_GEMV_SPLIT = 0,
    KT_GEMV_DOT = 5,
    KT_GEMV_BYTES = 6,
    KT_GEMV_HALF = 10,
    KT_GEMV_LARGE = 15,
    KT_GEMV_STAGE = 16,
};

// Axes of the weight types and forms that all kernels are tested with.
#define KT_GEMV_TYPES                                                                              \
    KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1,             \
             GI_GGML_TYPE_Q8_0)
#define KT_GEMV_FORMS  KT_CHOICES("form", kt_gemv_form_name, 0, 1, 2, 3, 4)
#define KT_GEMV_STAGES KT_CHOICES("form", kt_gemv_form_name, 16, 17, 18, 19, 20)

const char *kt_gemv_form_name(uint32_t form);
// Makes the ops of the case take a form. Returns false, and the case is left out, if the device's
// groups are too small for it; those of 1,024 run only where there are subgroups.
bool kt_gemv_set_form(struct kt_run *run, uint32_t form);
// Makes a stream with partial sums in a number that depends on n_embd.
struct gi_stream kt_gemv_stream(struct kt_run *run, uint32_t n_embd, uint32_t n_rot);
