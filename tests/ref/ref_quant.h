// Dequantisation in double, written from the formulas of the GGUF format, obvious and slow: the
// specification of src/quant and of the unpackers in glsl/quant.
#ifndef TESTS_REF_QUANT_H
#define TESTS_REF_QUANT_H

#include <stddef.h>
#include <stdint.h>

// The value of an IEEE 754 half: (-1)^s 2^(e-15) 1.m, or 2^-14 0.m for e = 0; inf and nan for 31.
double ref_half(unsigned bits);
// Returns the nearest half, ties to even.
uint16_t ref_float_to_half(float value);

// The kind of scale that a block of the file has.
enum ref_scale {
    REF_SCALE_HALF,     // f16
    REF_SCALE_VALUE,    // the element itself, the top bytes of a float
    REF_SCALE_DIGITS,   // f16, a digit in the top of each of four words
    REF_SCALE_EXPONENT, // of 2, a byte
};

struct ref_quant {
    const char *name;                                // as the format spells it: "q4_0"
    double (*element)(const uint8_t *row, size_t i); // element i of a row, as it lies in the file
    double
        limit; // the largest |sum or product| on the way to an element in float; 0: all are exact
    struct {
        enum ref_scale kind;
        uint32_t byte;
        float range; // how many times it weights are at the most, about; 0: there is no scale
    } scales[2];
};

// Returns the type's formula, NULL if there is none.
const struct ref_quant *ref_quant_find(const char *name);

// Some look up points of a grid, two of 16 bits a word as src/quant has them. Whoever links this
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

#endif
