// Philox4x32-10, a counter-based generator: the same (seed, counter) gives the same words on the
// CPU and in glsl/sample/philox.glsl.
//   Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
#ifndef GI_BASE_RANDOM_H
#define GI_BASE_RANDOM_H

#include <stdint.h>

// Writes four words for the 128-bit counter under the 64-bit seed.
void gi_philox(uint64_t seed, const uint32_t counter[4], uint32_t out[4]);

#endif
