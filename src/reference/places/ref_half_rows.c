#include "reference/places/ref_half_rows.h"

#include "base/round.h"
#include "ops/gemm/half_rows.h"
#include "quant/quant.h"

#include <math.h>
#include <string.h>

static uint32_t tile_tokens(const struct gi_ref_half_rows *rows)
{
    return rows->is_small ? 8 : 128;
}

static uint64_t tile_words(const struct gi_ref_half_rows *rows)
{
    return (8 * tile_tokens(rows) + tile_tokens(rows) / 4) * 4;
}

bool gi_ref_is_small_half(const struct gi_program_key *key)
{
    bool is_small = key->id == GI_PROGRAM_GEMV_BATCH_HALF;
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_small = is_small || (strcmp(key->defines[i].name, "HALF") == 0 &&
                                key->defines[i].value == GI_HALF_FORM_SMALL);
    }
    return is_small;
}

// Returns the place of a column of a token's row: in word *at of the binding.
static struct gi_ref_place place_of(const struct gi_ref_half_rows *rows, uint32_t token,
                                    uint32_t column, uint64_t *at)
{
    const uint32_t n = tile_tokens(rows), t = token % n;
    const uint64_t tile = (uint64_t)(token / n) * rows->n_tile + column / GI_HALF_COLUMNS;
    const uint64_t begin = rows->begin + tile * tile_words(rows);
    *at =
        begin + 4ull * ((t % 4 * 8 + column % GI_HALF_COLUMNS / 8) * (n / 4) + t / 4) + column % 4;
    return (struct gi_ref_place){GI_REF_TILE_F16, column % 8 / 4, 2 * (begin + 32ull * n + t)};
}

const float *gi_ref_half_row(struct gi_ref *ref, const struct gi_ref_half_rows *rows,
                             uint32_t token, uint32_t width)
{
    const uint32_t n_used = (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
    const uint64_t first =
        rows->begin + (uint64_t)(token / tile_tokens(rows)) * rows->n_tile * tile_words(rows);
    const void *words = gi_ref_floats(ref, rows->binding, first, (size_t)n_used * tile_words(rows));
    float *row = gi_ref_memory(ref, width, sizeof(*row));
    for (uint32_t i = 0; row && i < width; i++) {
        struct gi_ref_result element = {.n_sum = 1};
        element.place = place_of(rows, token, i, &element.at);
        row[i] = (float)gi_ref_found(&element, words, first, words, first).value;
    }
    return row;
}

void gi_ref_half_fill(struct gi_ref *ref, const struct gi_ref_half_rows *rows, uint32_t n_token,
                      uint32_t width)
{
    const uint32_t n_part = (n_token + tile_tokens(rows) - 1) / tile_tokens(rows);
    const size_t n_word = (size_t)n_part * rows->n_tile * tile_words(rows);
    const uint32_t n_column = rows->n_tile * GI_HALF_COLUMNS;
    const float scale = 1;
    uint32_t *words = gi_ref_memory(ref, n_word, sizeof(*words));
    for (uint32_t i = 0; words && i < n_token * n_column; i++) {
        const uint32_t column = i % n_column, bits = (i + ref->seed) * 2654435761u;
        const uint32_t half = column < width ? (bits >> 16 & 0x83FF) | 0x3800 : 0;
        uint64_t at;
        const struct gi_ref_place place = place_of(rows, i / n_column, column, &at);
        words[at - rows->begin] |= half << 16 * place.part;
        memcpy(&words[place.scale / 2 - rows->begin], &scale, sizeof(scale));
    }
    gi_ref_write(ref, rows->binding, rows->begin, n_word, words);
}

const float *gi_ref_packed_row(struct gi_ref *ref, uint32_t binding, uint64_t at, uint32_t width)
{
    const uint32_t n_word = (uint32_t)gi_round_up(width, GI_QUANT_BLOCK) / 2;
    const void *words = gi_ref_floats(ref, binding, at, n_word + 1);
    float *row = gi_ref_memory(ref, width, sizeof(*row));
    for (uint32_t i = 0; row && i < width; i++) {
        const struct gi_ref_result element = {
            .at = i / 2, .n_sum = 1, .place = {GI_REF_TILE_F16, i % 2, 2ull * n_word}};
        row[i] = (float)gi_ref_found(&element, words, 0, words, 0).value;
    }
    return row;
}

//-- rows of activations ---------------------------------------------------------------------------

static struct gi_ref_half_rows tiles_of(const struct gi_ref_rows_form *form)
{
    return (struct gi_ref_half_rows){0, 0, form->n_tile, form->half == GI_HALF_FORM_SMALL};
}

uint32_t gi_ref_rows_room(const struct gi_ref *ref, const struct gi_ref_rows_form *form)
{
    const uint64_t n_word = ref->dispatch->bindings[0].size / sizeof(uint32_t);
    const struct gi_ref_half_rows tiles = tiles_of(form);
    return (uint32_t)(form->half ? n_word / tile_words(&tiles) / form->n_tile * tile_tokens(&tiles)
                                 : (n_word - form->begin) / form->stride);
}

uint32_t gi_ref_next_row(const struct gi_ref *ref, const struct gi_ref_rows_form *form, uint32_t i,
                         uint32_t n, uint64_t n_value)
{
    const uint32_t step = n / 2;
    return !form->half || !ref->is_sampled ? gi_ref_next(ref, i, n, n_value)
           : i + 1 >= n                    ? n
           : i + step < n && step > 0      ? i + step
                                           : n - 1;
}

static double largest_of(const struct gi_ref_value *values, uint32_t n)
{
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double size = fabs(values[i].value); // not fmax: GCC 12 for arm64 fails on it
        largest = size > largest ? size : largest;
    }
    return largest;
}

// Returns the rounding of a half beside the largest value of its scale: half a unit in the last
// place, and of denormals one. A user's driver may flush denormals.
static double half_rounding(const struct gi_ref *ref, double value, double largest)
{
    return ref->is_sampled ? largest / 2048 : 0x1p-11 * fabs(value) + 0x1p-28 * largest + 0x1p-126;
}

static void expect_half(struct gi_ref *ref, const char *what, const struct gi_ref_half_rows *rows,
                        uint32_t token, uint32_t column, struct gi_ref_value expected, double slack)
{
    uint64_t at;
    const struct gi_ref_place place = place_of(rows, token, column, &at);
    if (column % GI_HALF_COLUMNS == 0) {
        gi_ref_expect_written(ref, "scale", rows->binding, place.scale / 2, 1);
    }
    gi_ref_expect_at(ref, what, rows->binding, at, place, expected, slack);
}

void gi_ref_expect_row(struct gi_ref *ref, const char *what, const struct gi_ref_rows_form *form,
                       uint32_t row, uint32_t column, const struct gi_ref_value *values, uint32_t n)
{
    const struct gi_ref_half_rows tiles = tiles_of(form);
    const uint32_t n_column = form->half ? (uint32_t)gi_round_up(n, GI_HALF_COLUMNS) : n;
    double largest = 0;
    for (uint32_t i = 0; i < n_column; i++) {
        const struct gi_ref_value value = i < n ? values[i] : (struct gi_ref_value){0, 0};
        if (!form->half) {
            gi_ref_expect(ref, what, 0, form->begin + row * form->stride + column + i, value.value,
                          1e-6 + value.magnitude);
            continue;
        }
        if (i % GI_HALF_COLUMNS == 0) {
            largest = largest_of(values + i, n - i < GI_HALF_COLUMNS ? n - i : GI_HALF_COLUMNS);
        }
        expect_half(ref, what, &tiles, row, column + i, value,
                    half_rounding(ref, value.value, largest));
    }
}

void gi_ref_expect_packed(struct gi_ref *ref, uint64_t begin, const struct gi_ref_value *values,
                          uint32_t n)
{
    const uint32_t n_column = (uint32_t)gi_round_up(n, GI_QUANT_BLOCK);
    const uint64_t scale = begin + n_column / 2;
    const double largest = largest_of(values, n);
    for (uint32_t i = 0; i < n_column; i++) {
        const struct gi_ref_value value = i < n ? values[i] : (struct gi_ref_value){0, 0};
        gi_ref_expect_at(ref, "packed", 0, begin + i / 2,
                         (struct gi_ref_place){GI_REF_TILE_F16, i % 2, 2 * scale}, value,
                         half_rounding(ref, value.value, largest));
    }
    gi_ref_expect_written(ref, "scale", 0, scale, 1);
    for (uint32_t i = 1; i < 4; i++) {
        gi_ref_expect_bits(ref, "after the scale", 0, scale + i, 0);
    }
}
