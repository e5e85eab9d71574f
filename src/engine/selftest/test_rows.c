#include "engine/selftest/test_rows.h"

#include "base/round.h"
#include "ops/gemm/half_rows.h"

#include <string.h>

// Unpacks a word of four pairs of halves: elements i and i + 4 of a vec8
// (glsl/gemm/half_rows.glsl).
static float half_element(const uint32_t word[4], uint32_t i)
{
    return gi_half_to_float((uint16_t)(i < 4 ? word[i] : word[i - 4] >> 16));
}

bool gi_test_is_small_half(const struct gi_program_key *key)
{
    return key->id == GI_PROGRAM_GEMV_BATCH_HALF;
}

// The tiles of rows in f16 as a program has them (ops/gemm/half_rows.h).
struct half_tiles {
    uint32_t n_token, n_quad; // of a tile; a quad is four tokens
    uint32_t n_word;
};

static struct half_tiles find_half_tiles(const struct gi_test *test)
{
    const bool is_small =
        gi_test_define(test, "HALF") == GI_HALF_FORM_SMALL || gi_test_is_small_half(test->key);
    const uint32_t n_token = is_small ? 8 : 128, n_quad = n_token / 4;
    return (struct half_tiles){n_token, n_quad, (8 * n_token + n_quad) * 4};
}

// Returns the first of the four words that have eight columns of a token, from its tile on.
static uint32_t half_words(const struct half_tiles *tiles, uint32_t token, uint32_t column)
{
    const uint32_t quad = token % tiles->n_token / 4;
    return 4 * ((token % 4 * 8 + column % GI_HALF_COLUMNS / 8) * tiles->n_quad + quad);
}

// Returns the word of a token's scale, from its tile on.
static uint32_t half_scale(const struct half_tiles *tiles, uint32_t token)
{
    return 4 * (8 * tiles->n_token + token % tiles->n_token / 4) + token % 4;
}

float *gi_test_half_row(struct gi_test *test, uint32_t binding, uint64_t begin, uint32_t token,
                        uint32_t width, uint32_t n_tile)
{
    const struct half_tiles tiles = find_half_tiles(test);
    const uint32_t n_used = (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
    const uint64_t first = (uint64_t)(token / tiles.n_token) * n_tile * tiles.n_word;
    float *row = gi_test_memory(test, width, sizeof(*row));
    const uint32_t *words =
        gi_test_words(test, binding, begin + first, n_used * (size_t)tiles.n_word);
    for (uint32_t i = 0; words && i < width; i++) {
        const uint32_t *tile = words + (size_t)i / GI_HALF_COLUMNS * tiles.n_word;
        float scale;
        memcpy(&scale, tile + half_scale(&tiles, token), sizeof(scale));
        row[i] = scale * half_element(tile + half_words(&tiles, token, i), i % 8);
    }
    return words ? row : NULL;
}

float *gi_test_row(struct gi_test *test, uint32_t binding, bool is_half, uint32_t token,
                   uint32_t stride, uint32_t width, uint32_t n_tile)
{
    return is_half ? gi_test_half_row(test, binding, 0, token, width, n_tile)
                   : gi_test_floats(test, binding, (uint64_t)token * stride, width);
}

// Rows of glsl/gemm/packed_rows.glsl: half a block's words, and one with the scale.
bool gi_test_is_packed(const struct gi_program_key *key)
{
    bool is_packed = key->id == GI_PROGRAM_PACK_ROWS;
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_packed = is_packed || strcmp(key->defines[i].name, "PACKED") == 0;
    }
    return is_packed;
}

float *gi_test_packed_row(struct gi_test *test, uint32_t binding, uint32_t token, uint32_t stride,
                          uint32_t width)
{
    const uint32_t n_word = (uint32_t)gi_round_up(width, GI_QUANT_BLOCK) / 2;
    float *row = gi_test_memory(test, width, sizeof(*row)), scale;
    const uint32_t *words = gi_test_words(test, binding, (uint64_t)token * stride, n_word + 1);
    if (!words) {
        return NULL;
    }
    memcpy(&scale, words + n_word, sizeof(scale));
    for (uint32_t i = 0; i < width; i++) {
        row[i] = scale * gi_half_to_float((uint16_t)(words[i / 2] >> i % 2 * 16));
    }
    return row;
}

void gi_test_fill_rows(struct gi_test *test, uint32_t binding, bool is_packed, uint32_t stride,
                       uint32_t width, uint32_t seed)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const uint32_t n_column = (uint32_t)gi_round_up(width, GI_QUANT_BLOCK);
    const uint32_t n_word = is_packed ? n_column / 2 + 1 : n_column < stride ? n_column : stride;
    const uint32_t n_memory = test->n_memory;
    const float scale = 0x1p-14f;
    uint32_t *words = gi_test_memory(test, n_word, sizeof(*words));
    for (uint32_t token = 0; !test->has_failed && token < test->n_tokens; token++) {
        for (uint32_t i = 0; i < n_word; i++) {
            const uint32_t bits = (token * n_word + i + seed) * 2654435761u;
            words[i] = is_packed ? (bits & 0xDBFFDBFFu) | 0x20002000u  // +-(2^-7 to 2^16), twice
                                 : (bits & 0x80FFFFFFu) | 0x3F000000u; // +-(0.5 to 2)
        }
        if (is_packed) {
            memcpy(words + n_word - 1, &scale, sizeof(scale));
        }
        test->has_failed = !gi_buffer_write(
            range->buffer, test->gpu, range->offset + (uint64_t)token * stride * sizeof(*words),
            words, n_word * sizeof(*words), test->err);
    }
    gi_test_rewind(test, n_memory);
}
