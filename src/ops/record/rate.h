// Kernels that measure a device's rates: they only copy or read bytes, or only multiply and add.
#pragma once

#include "ops/record/recorder.h"

// Ranges below are multiples of this many bytes.
#define GI_RATE_UNIT 65536u

// y = x, ranges of the same size.
void gi_op_rate_copy(struct gi_recorder *recorder, struct gi_range y, struct gi_range x);
// Reads x once and writes gi_rate_parity_size bytes of y: words of 16 bytes, each the exclusive or
// of some words of x. through_texels: reads a buffer texture; needs gi_limits.has_texture_buffer.
void gi_op_rate_read(struct gi_recorder *recorder, struct gi_range y, struct gi_range x,
                     bool through_texels);
uint64_t gi_rate_parity_size(const struct gi_gpu *gpu, uint64_t x_size);
// Computes GI_RATE_FLOPS_A_ROUND * n_round flops for each f32 of y; y.size / 4, their number, is a
// multiple of 64.
void gi_op_rate_fma(struct gi_recorder *recorder, struct gi_range y, uint32_t n_round, float factor,
                    float addend);
#define GI_RATE_FLOPS_A_ROUND 256
