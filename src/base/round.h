// Rounding sizes and counts up.
#ifndef GI_BASE_ROUND_H
#define GI_BASE_ROUND_H

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

#endif
