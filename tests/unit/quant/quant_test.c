#include "quant/quant.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdlib.h>

//-- the types under test, and rows of them ----------------------------------------------------

struct quant_case {
    uint32_t type;
    const char *name;
};

struct tile_view {
    const uint32_t *quads, *scales;
    size_t n_quad;
};

static uint32_t quad_word(const struct tile_view *t, size_t block, size_t quad, size_t row,
                          size_t word)
{
    return t->quads[((block * t->n_quad + quad) * 8 + row) * 4 + word];
}

static void put_half(uint8_t *bytes, uint32_t half)
{
    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
}

static void unpack_f32(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    for (size_t i = 0; i < 32; i++) {
        uint32_t word = quad_word(t, block, i / 4, row, i % 4);
        put_half(bytes + 4 * i, word & 0xFFFF);
        put_half(bytes + 4 * i + 2, word >> 16);
    }
}

static void unpack_f16(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    for (size_t i = 0; i < 32; i++) {
        uint32_t word = quad_word(t, block, i / 8, row, i / 2 % 4);
        put_half(bytes + 2 * i, i % 2 ? word >> 16 : word & 0xFFFF);
    }
}

static uint32_t paired_scale(const struct tile_view *t, size_t block, size_t row)
{
    uint32_t word = t->scales[block / 2 * 8 + row];
    return block % 2 ? word >> 16 : word & 0xFFFF;
}

static void unpack_q8_0(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    put_half(bytes, paired_scale(t, block, row));
    for (size_t i = 0; i < 32; i++) {
        uint32_t word = quad_word(t, block, i / 16, row, i / 4 % 4);
        bytes[2 + i] = (uint8_t)(word >> 8 * (i % 4));
    }
}

static void unpack_nibbles(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    memset(bytes, 0, 16);
    for (size_t i = 0; i < 32; i++) {
        uint32_t q = quad_word(t, block, 0, row, i / 8) >> 4 * (i % 8) & 0xF;
        bytes[i % 16] |= (uint8_t)(i < 16 ? q : q << 4);
    }
}

static void unpack_q4_0(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    put_half(bytes, paired_scale(t, block, row));
    unpack_nibbles(t, block, row, bytes + 2);
}

static void unpack_q4_1(const struct tile_view *t, size_t block, size_t row, uint8_t *bytes)
{
    uint32_t word = t->scales[block * 8 + row];
    put_half(bytes, word & 0xFFFF);
    put_half(bytes + 2, word >> 16);
    unpack_nibbles(t, block, row, bytes + 4);
}

static const struct quant_case cases[] = {
#define QUANT_CASE(name, text, ...) {GI_GGML_TYPE_##name, #text},
    GI_WEIGHT_TYPE_MAP(QUANT_CASE)
#undef QUANT_CASE
};
#define N_CASE (sizeof(cases) / sizeof(cases[0]))

// Types whose tiles are held to the picture in quant.h, by putting a block of the file together
// again: elements 32 block .. 32 block + 31 of a GPU row. Kernels hold the others to it.
static const struct unpack_case {
    uint32_t type;
    void (*unpack)(const struct tile_view *tile, size_t block, size_t row, uint8_t *bytes);
} unpack_cases[] = {
    {GI_GGML_TYPE_F32, unpack_f32},   {GI_GGML_TYPE_F16, unpack_f16},
    {GI_GGML_TYPE_Q4_0, unpack_q4_0}, {GI_GGML_TYPE_Q4_1, unpack_q4_1},
    {GI_GGML_TYPE_Q8_0, unpack_q8_0},
};
#define N_UNPACK_CASE (sizeof(unpack_cases) / sizeof(unpack_cases[0]))

#define MAX_COLS  768
#define MAX_BYTES (MAX_COLS * 4)

static void fill_random(uint8_t *bytes, size_t size, uint32_t stream)
{
    uint64_t state = stream;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (uint8_t)(state >> 56);
    }
}

static size_t row_bytes(const struct gi_ggml_type_info *info, size_t n_cols)
{
    return n_cols / info->block_size * info->block_bytes;
}

// Bytes of 32 columns in the file, of which blocks of one element have as many as there are
// columns.
static size_t bytes_of_32(const struct gi_ggml_type_info *info)
{
    return 32 / info->block_size * info->block_bytes;
}

//-- tests -------------------------------------------------------------------------------------

TEST(quant_find_knows_the_types_it_names)
{
    for (size_t i = 0; i < N_CASE; i++) {
        const struct gi_quant *quant = gi_quant_find(cases[i].type);
        assert_non_null(quant);
        assert_int_equal(quant->type, cases[i].type);
        assert_non_null(strstr(gi_quant_names(), cases[i].name));
    }
    assert_null(gi_quant_find(GI_GGML_TYPE_Q8_K));
    assert_null(gi_quant_find(UINT32_MAX));
}

TEST(quant_sizes_round_up_to_tiles_and_blocks)
{
    const struct gi_quant *f32 = gi_quant_find(GI_GGML_TYPE_F32);
    const struct gi_quant *q4_0 = gi_quant_find(GI_GGML_TYPE_Q4_0);
    const struct gi_quant *q4_1 = gi_quant_find(GI_GGML_TYPE_Q4_1);
    assert_int_equal(gi_quant_quads_size(f32, 9, 33), 2 * 8 * 2 * 32 * 4);
    assert_int_equal(gi_quant_scales_size(f32, 9, 33), 0);
    assert_int_equal(gi_quant_quads_size(q4_0, 8, 96), 8 * 3 * 16);
    assert_int_equal(gi_quant_scales_size(q4_0, 8, 96), 8 * 2 * 4);
    assert_int_equal(gi_quant_quads_size(q4_1, 17, 64), 24 * 2 * 16);
    assert_int_equal(gi_quant_scales_size(q4_1, 17, 64), 24 * 2 * 4);
    assert_int_equal(gi_quant_quads_size(q4_1, (uint64_t)1 << 20, (uint64_t)1 << 16),
                     (uint64_t)1 << 35);
}

static void assert_tile_unpacks(const struct unpack_case *c, uint8_t *const rows[8], size_t n_cols)
{
    const struct gi_quant *quant = gi_quant_find(c->type);
    const struct gi_ggml_type_info *info = gi_ggml_type_find(c->type);
    size_t quads_size = (size_t)gi_quant_quads_size(quant, 8, n_cols);
    size_t scales_size = (size_t)gi_quant_scales_size(quant, 8, n_cols);
    // Exactly as large as said, so that a sanitizer sees a word too many.
    uint32_t *quads = malloc(quads_size), *scales = malloc(scales_size ? scales_size : 1);
    assert_true(quads && scales);
    memset(quads, 0xA5, quads_size);
    memset(scales, 0xA5, scales_size);
    gi_quant_repack_tile(quant, (const void *const *)rows, n_cols, quads,
                         scales_size ? scales : NULL);

    struct tile_view tile = {quads, scales, quant->n_quad};
    for (size_t row = 0; row < 8; row++) {
        uint8_t expected[MAX_BYTES + 128] = {0}, found[MAX_BYTES + 128] = {0};
        size_t n_block = (n_cols + 31) / 32;
        if (rows[row]) {
            memcpy(expected, rows[row], row_bytes(info, n_cols));
        }
        for (size_t block = 0; block < n_block; block++) {
            c->unpack(&tile, block, row, found + block * bytes_of_32(info));
        }
        assert_memory_equal(found, expected, sizeof(found));
    }
    free(quads);
    free(scales);
}

static void assert_repack_is_lossless(const struct unpack_case *c, size_t n_cols, unsigned absent)
{
    const struct gi_ggml_type_info *info = gi_ggml_type_find(c->type);
    uint8_t *rows[8] = {0};
    size_t size = row_bytes(info, n_cols);
    for (uint32_t row = 0; row < 8; row++) {
        if (!(absent >> row & 1)) {
            rows[row] = malloc(size);
            assert_non_null(rows[row]);
            fill_random(rows[row], size, 1000 + row);
        }
    }
    assert_tile_unpacks(c, rows, n_cols);
    for (size_t row = 0; row < 8; row++) {
        free(rows[row]);
    }
}

TEST(repack_then_unpack_is_the_identity)
{
    static const size_t widths[] = {32, 64, 96, 160};
    for (size_t i = 0; i < N_UNPACK_CASE; i++) {
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            assert_repack_is_lossless(&unpack_cases[i], widths[w], 0);
        }
    }
}

TEST(repack_makes_absent_rows_zero)
{
    for (size_t i = 0; i < N_UNPACK_CASE; i++) {
        assert_repack_is_lossless(&unpack_cases[i], 96, 0xF0);
        assert_repack_is_lossless(&unpack_cases[i], 96, 0x01);
        assert_repack_is_lossless(&unpack_cases[i], 96, 0xFF);
    }
}

TEST(repack_fills_the_last_block_with_zeros)
{
    static const size_t widths[] = {1, 2, 31, 33, 63, 159};
    for (size_t i = 0; i < N_UNPACK_CASE; i++) {
        if (gi_ggml_type_find(unpack_cases[i].type)->block_size > 1) {
            continue;
        }
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            assert_repack_is_lossless(&unpack_cases[i], widths[w], 0x10);
        }
    }
}

// The only bit that is set in n words; fails if there is not exactly one.
static size_t find_only_bit(const uint32_t *words, size_t n)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (words[i]) {
            assert_true(found == SIZE_MAX && (words[i] & (words[i] - 1)) == 0);
            for (found = 32 * i; !(words[i] >> found % 32 & 1); found++) {
            }
        }
    }
    assert_true(found != SIZE_MAX);
    return found;
}

static void assert_bits_move(const struct quant_case *c, size_t n_cols)
{
    const struct gi_quant *quant = gi_quant_find(c->type);
    const size_t size = row_bytes(gi_ggml_type_find(c->type), n_cols);
    const size_t n_quads = (size_t)gi_quant_quads_size(quant, 8, n_cols) / 4;
    const size_t n_word = n_quads + (size_t)gi_quant_scales_size(quant, 8, n_cols) / 4;
    uint8_t row[2048] = {0};
    const void *rows[8] = {[5] = row};
    uint32_t *words = malloc(n_word * sizeof(*words));
    bool *is_consumed = calloc(n_word * 32, sizeof(*is_consumed));
    assert_true(words && is_consumed && size <= sizeof(row));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        row[bit / 8] = (uint8_t)(1u << bit % 8);
        gi_quant_repack_tile(quant, rows, n_cols, words, words + n_quads);
        row[bit / 8] = 0;
        const size_t place = find_only_bit(words, n_word);
        assert_false(is_consumed[place]);
        is_consumed[place] = true;
    }
    free(is_consumed);
    free(words);
}

TEST(repack_moves_each_bit_to_a_place_of_its_own)
{
    for (size_t i = 0; i < N_CASE; i++) {
        const size_t block = gi_ggml_type_find(cases[i].type)->block_size;
        assert_bits_move(&cases[i], block == 256 ? 512 : block == 64 ? 320 : 160);
        assert_bits_move(&cases[i], block > 32 ? block : 32);
    }
}

TEST(repacked_weights_take_at_most_3_percent_more)
{
    for (size_t i = 0; i < N_CASE; i++) {
        const struct gi_quant *quant = gi_quant_find(cases[i].type);
        const uint64_t file = 8 * row_bytes(gi_ggml_type_find(cases[i].type), 2048);
        const uint64_t gpu =
            gi_quant_quads_size(quant, 8, 2048) + gi_quant_scales_size(quant, 8, 2048);
        assert_true(gpu >= file && gpu * 100 <= file * 103);
    }
}

// A grid's points as numbers, coordinate 0 lowest: what it says whatever the order of bits.
struct grid_case {
    uint32_t type, n_point, n_coordinate, base;
    uint64_t sum_of_squares; // of the numbers, of PyPI gguf 0.19.0's grids
};

static const struct grid_case grids[] = {
    {GI_GGML_TYPE_IQ1_S, 2048, 8, 3, 28387003689u}, {GI_GGML_TYPE_IQ1_M, 2048, 8, 3, 28387003689u},
    {GI_GGML_TYPE_IQ2_XXS, 256, 8, 3, 1999532748u}, {GI_GGML_TYPE_IQ2_XS, 512, 8, 3, 4649845488u},
    {GI_GGML_TYPE_IQ2_S, 1024, 8, 3, 9139706144u},  {GI_GGML_TYPE_IQ3_XXS, 256, 4, 8, 941234250u},
    {GI_GGML_TYPE_IQ3_S, 512, 4, 8, 1813484493u},
};

static uint32_t point_number(const struct grid_case *c, const uint32_t *table, uint32_t point)
{
    const uint32_t bits = table[point / 2] >> 16 * (point % 2) & 0xFFFF;
    uint32_t number = 0;
    for (uint32_t j = c->n_coordinate; j-- > 0;) {
        const uint32_t coordinate =
            c->n_coordinate == 4 ? bits >> 4 * j & 7 : bits >> (4 * (j % 4) + 2 * (j / 4)) & 3;
        assert_true(coordinate < c->base);
        number = number * c->base + coordinate;
    }
    return number;
}

TEST(grids_are_those_of_the_format)
{
    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        const struct grid_case *c = &grids[i];
        const struct gi_quant *quant = gi_quant_find(c->type);
        assert_int_equal(quant->table_words, c->n_point / 2);
        uint64_t sum = 0, last = 0;
        for (uint32_t point = 0; point < c->n_point; point++) {
            const uint64_t number = point_number(c, quant->table, point);
            assert_true(point == 0 || number > last);
            last = number;
            sum += number * number;
        }
        assert_int_equal(sum, c->sum_of_squares);
    }
}

// Returns (-1)^s 2^(e-15) 1.m, or 2^-14 0.m for e = 0; inf and nan for 31.
static double half_of(unsigned bits)
{
    const double sign = bits & 0x8000 ? -1 : 1, m = (bits & 1023) / 1024.0;
    const int e = bits >> 10 & 31;
    return e == 31  ? (m > 0 ? (double)NAN : sign * (double)INFINITY)
           : e == 0 ? sign * ldexp(m, -14)
                    : sign * ldexp(1 + m, e - 15);
}

TEST(half_to_float_is_exact_for_all)
{
    for (unsigned bits = 0; bits <= 0xFFFF; bits++) {
        double expected = half_of(bits);
        float found = gi_half_to_float((uint16_t)bits);
        if (isnan(expected)) {
            assert_true(isnan(found));
        } else {
            assert_true((double)found == expected);
            assert_int_equal(!!signbit(found), bits >> 15);
        }
    }
}

RUN_TESTS(NULL, NULL)
