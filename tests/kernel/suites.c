#include "kernel_test.h"

extern const struct kt_suite kt_gemv_qkv, kt_gemv_residual, kt_gemv_swiglu, kt_gemv_vocab;
extern const struct kt_suite kt_argmax, kt_sample;

const struct kt_suite *const kt_suites[] = {
    &kt_gemv_qkv, &kt_gemv_residual, &kt_gemv_swiglu, &kt_gemv_vocab, &kt_argmax, &kt_sample, NULL,
};
