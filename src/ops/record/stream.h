// The residual stream of a decode step's token, and values derived from it. One storage range:
//   residual (n_embd)   x
//   norm     (n_embd)   x * gamma of the next norm: the input of the next projection, and its sums
//                       (gi_x_size); the scalar 1 / rms(x) multiplies that projection's result
//   ssq      (max_ssq)  partial sums of squares of x, n_ssq of them, from the producer of x
//   rope     (n_rot)    cos, sin of each rotary pair at this position, copied by embed_token
// Offsets are in floats and multiples of 4; each part is padded to 64 floats with finite values,
// which is the alignment of a uniform block.
//
// A residual is parted after gi_op_gemv_post, which adds a normed product: x = r + s u. The range
// has r at residual, u at residual + u_offset, r gamma at norm, and u gamma at norm + u_offset;
// s and the sum of squares of x come from n_ssq vec4 of partial sums at part_sums[parity].
#pragma once

#include "gpu/memory/buffer.h"

struct gi_stream {
    struct gi_range range;
    uint32_t n_embd, n_rot;
    uint32_t residual, norm, ssq, rope;
    uint32_t u_offset, part_sums[2];
    uint32_t max_ssq;
    // Ops set these three while recording: they describe the latest producer of x.
    uint32_t n_ssq; // partial sums that it writes
    bool has_sums;  // it writes the sums of norm
    bool is_parted; // it leaves x parted
    uint32_t parity;
    float norm_eps;
};

// Returns the floats of a projection's input of n elements with its sums: n rounded up to 64, then
// the sum of each 16 elements, rounded up to 64. Producers write sums if gi_gemv_wants_sums.
uint32_t gi_x_size(uint32_t n);

// Sets the offsets, not range.buffer. Returns the bytes that the range must have.
uint64_t gi_stream_layout(struct gi_stream *stream, uint32_t n_embd, uint32_t n_rot,
                          float norm_eps);

// Types of a KV cache's elements; glsl/attention/cache_type.glsl has the same numbers.
enum gi_cache_type {
    GI_CACHE_F16, // pairs
    GI_CACHE_F32,
    GI_CACHE_Q8_0, // a byte an element; a separate f16 scale for each 32 elements of a row
    GI_CACHE_Q4_0, // a nibble an element; scales like q8_0
    GI_CACHE_TYPE_COUNT,
};
// Returns the name of a type: "f16".
const char *gi_cache_type_name(enum gi_cache_type type);
// Returns true for q8_0 and q4_0, which have a scale for each 32 elements of a row.
bool gi_cache_has_blocks(enum gi_cache_type type);

// One layer's KV cache, preceded by the query of the decode step. One storage range of uints:
//   q  (n_head, head_dim)            f32, pair order
//   k  (n_kv_head, n_ctx, head_dim)  pair order, after RoPE; blocks: rows padded to 16 bytes
//      (n_kv_head, n_ctx, head_dim / 32)  scales of blocks, rows padded to a uint
//   v  and its scales, in the same layout
struct gi_kv_layer {
    struct gi_range range;
    uint32_t n_head, n_kv_head, head_dim, n_ctx; // head_dim is a multiple of 8
    uint32_t k, v;                               // offsets in uints, multiples of 4; q is at 0
    uint32_t k_scale, v_scale;                   // offsets in uints of the scales of blocks
    enum gi_cache_type type_k, type_v;
    // In a joint list, where range covers all slots: bytes from one slot to the next, a multiple of
    // 256; else 0.
    uint64_t slot_size;
};

// Returns the bytes of a row of head_dim elements with its scales.
uint32_t gi_cache_row_size(enum gi_cache_type type, uint32_t head_dim);

// Contiguous rows of n_kv_head heads in a layer's range: the row of head h at position 0 is at
// offset + h * head_stride. All in bytes; row_size may be 0.
struct gi_cache_plane {
    uint64_t offset, head_stride;
    uint32_t row_size;
};
enum { GI_CACHE_PLANES = 4 };
// Fills the planes of keys, scales of keys, values and scales of values.
void gi_kv_layer_planes(const struct gi_kv_layer *layer,
                        struct gi_cache_plane planes[GI_CACHE_PLANES]);

// Sets the offsets; returns the bytes that the range must have. The offsets are valid if a device
// can bind that size.
uint64_t gi_kv_layer_layout(struct gi_kv_layer *layer, uint32_t n_head, uint32_t n_kv_head,
                            uint32_t head_dim, uint32_t n_ctx, enum gi_cache_type type_k,
                            enum gi_cache_type type_v);
