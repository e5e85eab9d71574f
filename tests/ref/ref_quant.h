// Dequantisation in double, written from the formulas of the GGUF format, obvious and slow: the
// specification of src/quant and of the unpackers in glsl/quant.
#ifndef TESTS_REF_QUANT_H
#define TESTS_REF_QUANT_H

#include <stddef.h>
#include <stdint.h>

// The value of an IEEE 754 half: (-1)^s 2^(e-15) 1.m, or 2^-14 0.m for e = 0; inf and nan for 31.
double ref_half(unsigned bits);

// Element i of a row of the type, as it lies in the file at row.
double ref_element_f32(const uint8_t *row, size_t i);
double ref_element_f16(const uint8_t *row, size_t i);
double ref_element_q4_0(const uint8_t *row, size_t i);
double ref_element_q4_1(const uint8_t *row, size_t i);
double ref_element_q8_0(const uint8_t *row, size_t i);
double ref_element_bf16(const uint8_t *row, size_t i);
double ref_element_q5_0(const uint8_t *row, size_t i);
double ref_element_q5_1(const uint8_t *row, size_t i);
double ref_element_q2_k(const uint8_t *row, size_t i);
double ref_element_q3_k(const uint8_t *row, size_t i);
double ref_element_q4_k(const uint8_t *row, size_t i);
double ref_element_q5_k(const uint8_t *row, size_t i);
double ref_element_q6_k(const uint8_t *row, size_t i);
double ref_element_iq4_nl(const uint8_t *row, size_t i);
double ref_element_iq4_xs(const uint8_t *row, size_t i);
double ref_element_mxfp4(const uint8_t *row, size_t i);
double ref_element_tq1_0(const uint8_t *row, size_t i);
double ref_element_tq2_0(const uint8_t *row, size_t i);
// These look up points of a grid, two of 16 bits a word as src/quant has them. Whoever links this
// provides the words, and holds them to the format.
enum ref_grid {
    REF_GRID_IQ1,
    REF_GRID_IQ2_XXS,
    REF_GRID_IQ2_XS,
    REF_GRID_IQ2_S,
    REF_GRID_IQ3_XXS,
    REF_GRID_IQ3_S,
};
const uint32_t *ref_grid_words(enum ref_grid grid);
double ref_element_iq1_s(const uint8_t *row, size_t i);
double ref_element_iq1_m(const uint8_t *row, size_t i);
double ref_element_iq2_xxs(const uint8_t *row, size_t i);
double ref_element_iq2_xs(const uint8_t *row, size_t i);
double ref_element_iq2_s(const uint8_t *row, size_t i);
double ref_element_iq3_xxs(const uint8_t *row, size_t i);
double ref_element_iq3_s(const uint8_t *row, size_t i);

#endif
