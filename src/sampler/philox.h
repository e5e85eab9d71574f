// Random numbers by counter: the twin of glsl/sample/philox.glsl and sample/sampler.glsl, so that a
// choice by the host and one by the GPU from the same candidates are the same.
#pragma once

#include <stdint.h>

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).
void gi_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

// Returns a number uniform in (0, 1), for a token's position and what it is for: `use` tells
// numbers of one position apart, 0 to UINT32_MAX.
double gi_philox_uniform(uint64_t seed, uint32_t position, uint32_t use);
// Returns Gumbel noise for a candidate: the largest of ln(p) + noise is a token chosen with
// probability p. At most GI_GUMBEL_MOST.
double gi_philox_gumbel(uint64_t seed, uint32_t position, uint32_t id);
#define GI_GUMBEL_MOST 23.0
