#include "reference/places/ref_cache.h"

#include "quant/quant.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 }; // elements with one scale

// Words of a row: of its elements, those with the padding after them, and of its scales.
struct row_words {
    uint32_t used, all, scales;
};

static struct row_words words_of(const struct gi_ref_cache *cache)
{
    const uint32_t n = cache->head_dim, scales = (n + 63) / 64;
    switch (cache->type) {
    case GI_CACHE_F32:
        return (struct row_words){n, n, 0};
    case GI_CACHE_Q8_0:
        return (struct row_words){n / 4, (n + 15) / 16 * 4, scales};
    case GI_CACHE_Q4_0:
        return (struct row_words){n / 8, (n + 31) / 32 * 4, scales};
    default:
        return (struct row_words){n / 2, n / 2, 0};
    }
}

static uint64_t row_of(const struct gi_ref_cache *cache, uint32_t head, uint32_t position)
{
    return (uint64_t)head * cache->n_ctx + position;
}

// Returns the place of element i of a row: in word *at from the row on.
static struct gi_ref_place place_of(const struct gi_ref_cache *cache, uint64_t row, uint32_t i,
                                    uint32_t *at)
{
    const uint64_t scale = 2 * (cache->scales + row * words_of(cache).scales) + i / BLOCK;
    switch (cache->type) {
    case GI_CACHE_F32:
        *at = i;
        return (struct gi_ref_place){GI_REF_F32, 0, 0};
    case GI_CACHE_Q8_0:
        *at = i / 4;
        return (struct gi_ref_place){GI_REF_Q8_0, i % 4, scale};
    case GI_CACHE_Q4_0:
        *at = i / 8;
        return (struct gi_ref_place){GI_REF_Q4_0, i % 4 * 2 + i % 8 / 4, scale};
    default:
        *at = i / 2;
        return (struct gi_ref_place){GI_REF_F16, i % 2, 0};
    }
}

const float *gi_ref_cache_rows(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                               uint32_t position, uint32_t n)
{
    const struct row_words words = words_of(cache);
    const uint64_t first = row_of(cache, head, position);
    const uint64_t first_scale = cache->scales + first * words.scales;
    const void *data =
        gi_ref_floats(ref, cache->binding, cache->data + first * words.all, (size_t)n * words.all);
    const void *scales = words.scales == 0 ? NULL
                                           : gi_ref_floats(ref, cache->binding, first_scale,
                                                           (size_t)n * words.scales);
    float *rows = gi_ref_memory(ref, (size_t)n * cache->head_dim, sizeof(*rows));
    for (uint32_t m = 0; rows && m < n; m++) {
        for (uint32_t i = 0; i < cache->head_dim; i++) {
            struct gi_ref_result element = {.n_sum = 1};
            uint32_t at;
            element.place = place_of(cache, first + m, i, &at);
            rows[(size_t)m * cache->head_dim + i] =
                (float)gi_ref_found(&element, (const uint32_t *)data + (size_t)m * words.all + at,
                                    0, scales, first_scale)
                    .value;
        }
    }
    return rows;
}

void gi_ref_cache_fill(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                       uint32_t n)
{
    const struct row_words words = words_of(cache);
    const uint64_t row = row_of(cache, head, 0);
    // Values between 1/32 and 1, of either sign; blocks are any, with scales up to 1/64.
    const uint32_t mask = cache->type == GI_CACHE_F16   ? 0x87FF87FFu
                          : cache->type == GI_CACHE_F32 ? 0x80FFFFFFu
                                                        : 0xFFFFFFFFu;
    const uint32_t bits = cache->type == GI_CACHE_F16   ? 0x28002800u
                          : cache->type == GI_CACHE_F32 ? 0x3D000000u
                                                        : 0;
    gi_ref_fill(ref, cache->binding, cache->data + row * words.all, (size_t)n * words.all, mask,
                bits);
    gi_ref_fill(ref, cache->binding, cache->scales + row * words.scales, (size_t)n * words.scales,
                0x03FF03FFu, 0x20002000u);
}

void gi_ref_cache_written(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                          uint32_t position, uint32_t n)
{
    const struct row_words words = words_of(cache);
    const uint64_t row = row_of(cache, head, position), first = cache->data + row * words.all;
    if (words.used == words.all) {
        gi_ref_expect_written(ref, cache->what, cache->binding, first, (uint64_t)n * words.all);
    }
    for (uint32_t m = 0; words.used < words.all && m < n; m++) {
        gi_ref_expect_written(ref, cache->what, cache->binding, first + (uint64_t)m * words.all,
                              words.used);
    }
    if (words.scales > 0) {
        gi_ref_expect_written(ref, "scale", cache->binding, cache->scales + row * words.scales,
                              (uint64_t)n * words.scales);
    }
}

void gi_ref_cache_expect(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                         uint32_t position, uint32_t i, struct gi_ref_value expected)
{
    const uint64_t row = row_of(cache, head, position);
    const double slack = cache->type == GI_CACHE_F32   ? 0
                         : cache->type == GI_CACHE_F16 ? 0x1p-11 * fabs(expected.value) + 0x1p-25
                                                       : 0.5005; // of a step
    uint32_t at;
    const struct gi_ref_place place = place_of(cache, row, i, &at);
    gi_ref_expect_at(ref, cache->what, cache->binding, cache->data + row * words_of(cache).all + at,
                     place, expected, slack);
}

// A scale makes the largest value of its block 127 or, of q4_0, 8.
static void expect_scale(struct gi_ref *ref, const struct gi_ref_cache *cache, uint64_t row,
                         uint32_t block, const struct gi_ref_value *expected)
{
    const uint32_t left = cache->head_dim - block * BLOCK;
    struct gi_ref_value largest = {0, 0};
    for (uint32_t i = 0; i < left && i < BLOCK; i++) {
        const struct gi_ref_value *own = &expected[block * BLOCK + i];
        largest = fabs(own->value) > largest.value
                      ? (struct gi_ref_value){fabs(own->value), own->magnitude}
                      : largest;
    }
    const double step = 1.0 / (cache->type == GI_CACHE_Q8_0 ? 127 : 8);
    largest = (struct gi_ref_value){largest.value * step, largest.magnitude * step};
    gi_ref_expect_at(ref, "scale", cache->binding,
                     cache->scales + row * words_of(cache).scales + block / 2,
                     (struct gi_ref_place){GI_REF_F16_SIZE, block % 2, 0}, largest,
                     0.99 * 0x1p-10 * largest.value);
}

void gi_ref_cache_expect_row(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                             uint32_t position, const struct gi_ref_value *expected)
{
    const uint64_t row = row_of(cache, head, position);
    for (uint32_t i = 0; i < cache->head_dim; i++) {
        gi_ref_cache_expect(ref, cache, head, position, i, expected[i]);
    }
    for (uint32_t i = 0; gi_cache_has_blocks(cache->type) && i * BLOCK < cache->head_dim; i++) {
        expect_scale(ref, cache, row, i, expected);
    }
}
