// Makes shares of scores.
#pragma once

#include <math.h>
#include <stdint.h>

// Replaces scores (n) by their softmax.
static inline void gi_softmax(float *scores, uint32_t n)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = scores[i] > largest ? scores[i] : largest; // GCC 12 for arm64 fails on fmax
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += exp((double)scores[i] - largest);
    }
    for (uint32_t i = 0; i < n; i++) {
        scores[i] = (float)(exp((double)scores[i] - largest) / sum);
    }
}
