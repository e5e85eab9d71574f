// Sizes and counts: rounded up, the smaller and the larger of two.
#pragma once

#include <stdint.h>

// Returns the smallest multiple of step that is at least n; step is not 0.
static inline uint64_t gi_round_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

// Returns n / d rounded up; d is not 0.
static inline uint64_t gi_divide_up(uint64_t n, uint64_t d)
{
    return n / d + (n % d != 0);
}

static inline uint32_t gi_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t gi_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t gi_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
