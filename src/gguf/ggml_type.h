// The tensor types a GGUF file may name: number, name and block geometry, as the format defines
// them, and which of them glinfer computes with.
//   https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <stdint.h>

// Weight types, which glinfer computes with: name, text, folder, number, elements a block, bytes a
// block. Each has src/quant/<folder>/<text>.c and glsl/quant/<folder>/<text>.glsl. Numbers from 60
// on are not ggml's: weights of other formats become such types when they are read.
#define GI_WEIGHT_TYPE_MAP(X)                                                                      \
    X(F32, f32, basic, 0, 1, 4)                                                                    \
    X(F16, f16, basic, 1, 1, 2)                                                                    \
    X(BF16, bf16, basic, 30, 1, 2)                                                                 \
    X(Q4_0, q4_0, basic, 2, 32, 18)                                                                \
    X(Q4_1, q4_1, basic, 3, 32, 20)                                                                \
    X(Q5_0, q5_0, basic, 6, 32, 22)                                                                \
    X(Q5_1, q5_1, basic, 7, 32, 24)                                                                \
    X(Q8_0, q8_0, basic, 8, 32, 34)                                                                \
    X(Q2_K, q2_k, k, 10, 256, 84)                                                                  \
    X(Q3_K, q3_k, k, 11, 256, 110)                                                                 \
    X(Q4_K, q4_k, k, 12, 256, 144)                                                                 \
    X(Q5_K, q5_k, k, 13, 256, 176)                                                                 \
    X(Q6_K, q6_k, k, 14, 256, 210)                                                                 \
    X(IQ1_S, iq1_s, iq, 19, 256, 50)                                                               \
    X(IQ1_M, iq1_m, iq, 29, 256, 56)                                                               \
    X(IQ2_XXS, iq2_xxs, iq, 16, 256, 66)                                                           \
    X(IQ2_XS, iq2_xs, iq, 17, 256, 74)                                                             \
    X(IQ2_S, iq2_s, iq, 22, 256, 82)                                                               \
    X(IQ3_XXS, iq3_xxs, iq, 18, 256, 98)                                                           \
    X(IQ3_S, iq3_s, iq, 21, 256, 110)                                                              \
    X(IQ4_NL, iq4_nl, iq, 20, 32, 18)                                                              \
    X(IQ4_XS, iq4_xs, iq, 23, 256, 136)                                                            \
    X(MXFP4, mxfp4, basic, 39, 32, 17)                                                             \
    X(NVFP4, nvfp4, basic, 40, 64, 36)                                                             \
    X(Q1_0, q1_0, basic, 41, 128, 18)                                                              \
    X(Q2_0, q2_0, basic, 42, 64, 18)                                                               \
    X(Q8_M, q8_m, basic, 60, 32, 36)                                                               \
    X(TQ1_0, tq1_0, k, 34, 256, 54)                                                                \
    X(TQ2_0, tq2_0, k, 35, 256, 66)

// Types that a file may name besides: glinfer has no kernels for them.
#define GI_OTHER_TYPE_MAP(X)                                                                       \
    X(Q8_1, q8_1, none, 9, 32, 36)                                                                 \
    X(Q8_K, q8_k, none, 15, 256, 292)                                                              \
    X(I8, i8, none, 24, 1, 1)                                                                      \
    X(I16, i16, none, 25, 1, 2)                                                                    \
    X(I32, i32, none, 26, 1, 4)                                                                    \
    X(I64, i64, none, 27, 1, 8)                                                                    \
    X(F64, f64, none, 28, 1, 8)

enum gi_ggml_type {
#define GI_GGML_TYPE_ENUM(name, text, folder, number, block, bytes) GI_GGML_TYPE_##name = (number),
    GI_WEIGHT_TYPE_MAP(GI_GGML_TYPE_ENUM) GI_OTHER_TYPE_MAP(GI_GGML_TYPE_ENUM)
#undef GI_GGML_TYPE_ENUM
};

struct gi_ggml_type_info {
    uint32_t type;
    const char *name;    // "q4_0"
    uint32_t block_size; // elements
    uint32_t block_bytes;
};

// Returns the type of a number in a file, NULL if it is unknown.
const struct gi_ggml_type_info *gi_ggml_type_find(uint32_t type);
