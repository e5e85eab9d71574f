// Knows where each type keeps what an infinite or undefined weight shows in: its scales, or the
// weights themselves.
#include "quant/quant_table.h"

#define HALF 0x7C00 // the exponent of infinities and NaNs

// A word of 16 bits of a block, at a byte, of which all bits of the mask are set then. mask 0:
// none.
struct word {
    uint16_t at, mask;
};

static const struct {
    uint32_t type;
    struct word words[2];
} rows[] = {
    {GI_GGML_TYPE_F32, {{2, 0x7F80}}},
    {GI_GGML_TYPE_F16, {{0, HALF}}},
    {GI_GGML_TYPE_BF16, {{0, 0x7F80}}},
    {GI_GGML_TYPE_Q4_0, {{0, HALF}}},
    {GI_GGML_TYPE_Q4_1, {{0, HALF}, {2, HALF}}},
    {GI_GGML_TYPE_Q5_0, {{0, HALF}}},
    {GI_GGML_TYPE_Q5_1, {{0, HALF}, {2, HALF}}},
    {GI_GGML_TYPE_Q8_0, {{0, HALF}}},
    {GI_GGML_TYPE_Q2_K, {{80, HALF}, {82, HALF}}},
    {GI_GGML_TYPE_Q3_K, {{108, HALF}}},
    {GI_GGML_TYPE_Q4_K, {{0, HALF}, {2, HALF}}},
    {GI_GGML_TYPE_Q5_K, {{0, HALF}, {2, HALF}}},
    {GI_GGML_TYPE_Q6_K, {{208, HALF}}},
    {GI_GGML_TYPE_IQ1_S, {{0, HALF}}},
    {GI_GGML_TYPE_IQ2_XXS, {{0, HALF}}},
    {GI_GGML_TYPE_IQ2_XS, {{0, HALF}}},
    {GI_GGML_TYPE_IQ2_S, {{0, HALF}}},
    {GI_GGML_TYPE_IQ3_XXS, {{0, HALF}}},
    {GI_GGML_TYPE_IQ3_S, {{0, HALF}}},
    {GI_GGML_TYPE_IQ4_NL, {{0, HALF}}},
    {GI_GGML_TYPE_IQ4_XS, {{0, HALF}}},
    {GI_GGML_TYPE_MXFP4, {{0, 0x00FF}}}, // a byte that is an exponent
    {GI_GGML_TYPE_Q1_0, {{0, HALF}}},
    {GI_GGML_TYPE_Q2_0, {{0, HALF}}},
    {GI_GGML_TYPE_Q8_M, {{0, HALF}, {2, HALF}}},
    {GI_GGML_TYPE_TQ1_0, {{52, HALF}}},
    {GI_GGML_TYPE_TQ2_0, {{64, HALF}}},
};

static bool has_word(const uint8_t *src, size_t n_block, size_t block_bytes, struct word word)
{
    bool is_found = false;
    for (size_t i = 0; word.mask != 0 && i < n_block; i++) {
        is_found |= (gi_load_u16(src + i * block_bytes + word.at) & word.mask) == word.mask;
    }
    return is_found;
}

// The only scale of IQ1_M lies in the upper four bits of four words: its exponent in two of them.
static bool has_word_iq1_m(const uint8_t *src, size_t n_block, size_t block_bytes)
{
    bool is_found = false;
    for (size_t i = 0; i < n_block; i++) {
        const uint8_t *block = src + i * block_bytes;
        is_found |= (gi_load_u16(block + 54) & 0x7000) == 0x7000 &&
                    (gi_load_u16(block + 52) & 0xC000) == 0xC000;
    }
    return is_found;
}

bool gi_quant_is_finite(const struct gi_quant *quant, const void *src, size_t n_cols)
{
    const struct gi_ggml_type_info *type = gi_ggml_type_find(quant->type);
    const size_t n_block = n_cols / type->block_size, size = type->block_bytes;
    if (quant->type == GI_GGML_TYPE_IQ1_M) {
        return !has_word_iq1_m(src, n_block, size);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].type == quant->type) {
            return !has_word(src, n_block, size, rows[i].words[0]) &&
                   !has_word(src, n_block, size, rows[i].words[1]);
        }
    }
    return true;
}
