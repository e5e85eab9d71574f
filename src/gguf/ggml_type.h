// The tensor types a GGUF file may name: number, name and block geometry, as the format defines
// them. Pure facts of the format; what can be computed with is the business of quant/.
//   https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#ifndef GI_GGUF_GGML_TYPE_H
#define GI_GGUF_GGML_TYPE_H

#include <stdint.h>

// name, number, text, elements a block, bytes a block
#define GI_GGML_TYPE_MAP(X)                                                                        \
    X(F32, 0, "f32", 1, 4)                                                                         \
    X(F16, 1, "f16", 1, 2)                                                                         \
    X(Q4_0, 2, "q4_0", 32, 18)                                                                     \
    X(Q4_1, 3, "q4_1", 32, 20)                                                                     \
    X(Q5_0, 6, "q5_0", 32, 22)                                                                     \
    X(Q5_1, 7, "q5_1", 32, 24)                                                                     \
    X(Q8_0, 8, "q8_0", 32, 34)                                                                     \
    X(Q8_1, 9, "q8_1", 32, 36)                                                                     \
    X(Q2_K, 10, "q2_k", 256, 84)                                                                   \
    X(Q3_K, 11, "q3_k", 256, 110)                                                                  \
    X(Q4_K, 12, "q4_k", 256, 144)                                                                  \
    X(Q5_K, 13, "q5_k", 256, 176)                                                                  \
    X(Q6_K, 14, "q6_k", 256, 210)                                                                  \
    X(Q8_K, 15, "q8_k", 256, 292)                                                                  \
    X(IQ2_XXS, 16, "iq2_xxs", 256, 66)                                                             \
    X(IQ2_XS, 17, "iq2_xs", 256, 74)                                                               \
    X(IQ3_XXS, 18, "iq3_xxs", 256, 98)                                                             \
    X(IQ1_S, 19, "iq1_s", 256, 50)                                                                 \
    X(IQ4_NL, 20, "iq4_nl", 32, 18)                                                                \
    X(IQ3_S, 21, "iq3_s", 256, 110)                                                                \
    X(IQ2_S, 22, "iq2_s", 256, 82)                                                                 \
    X(IQ4_XS, 23, "iq4_xs", 256, 136)                                                              \
    X(I8, 24, "i8", 1, 1)                                                                          \
    X(I16, 25, "i16", 1, 2)                                                                        \
    X(I32, 26, "i32", 1, 4)                                                                        \
    X(I64, 27, "i64", 1, 8)                                                                        \
    X(F64, 28, "f64", 1, 8)                                                                        \
    X(IQ1_M, 29, "iq1_m", 256, 56)                                                                 \
    X(BF16, 30, "bf16", 1, 2)                                                                      \
    X(TQ1_0, 34, "tq1_0", 256, 54)                                                                 \
    X(TQ2_0, 35, "tq2_0", 256, 66)                                                                 \
    X(MXFP4, 39, "mxfp4", 32, 17)                                                                  \
    X(NVFP4, 40, "nvfp4", 64, 36)                                                                  \
    X(Q1_0, 41, "q1_0", 128, 18)

enum gi_ggml_type {
#define GI_GGML_TYPE_ENUM(name, number, text, block, bytes) GI_GGML_TYPE_##name = (number),
    GI_GGML_TYPE_MAP(GI_GGML_TYPE_ENUM)
#undef GI_GGML_TYPE_ENUM
};

struct gi_ggml_type_facts {
    uint32_t type;
    const char *name;    // "q4_0"
    uint32_t block_size; // elements
    uint32_t block_bytes;
};

// Returns the facts of a type number from a file, NULL if it names no type.
const struct gi_ggml_type_facts *gi_ggml_type_find(uint32_t type);

#endif
