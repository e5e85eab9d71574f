// The residual stream of a decode step, one token, and what travels with it. One storage range:
//   residual (n_embd)   x
//   norm     (n_embd)   x * gamma of the norm that follows: what the next projection reads, and its
//                       sums (gi_x_size); the scalar 1 / rms(x) multiplies that projection's result
//   ssq      (max_ssq)  partial sums of squares of x, n_ssq of them, from the producer of x
//   rope     (n_rot)    cos, sin of each rotary pair at this position, copied by embed_token
// Offsets are in floats and multiples of 4; each part is padded to 64 floats with finite values,
// which is the alignment of a uniform block.
//
// A residual is parted where gi_op_gemv_post has added what has a norm of its own: x is r + s u
// then. residual has r and, `behind` floats from it, u; norm likewise both times gamma; s and the
// sum of squares of x come from n_ssq vec4 of partial sums, which begin at part_sums[parity].
#ifndef GI_OPS_STREAM_H
#define GI_OPS_STREAM_H

#include "gpu/memory/buffer.h"

struct gi_stream {
    struct gi_range range;
    uint32_t n_embd, n_rot;
    uint32_t residual, norm, ssq, rope;
    uint32_t behind, part_sums[2];
    uint32_t max_ssq;
    uint32_t n_ssq; // written by the latest recorded producer; kept by the ops while recording
    bool has_sums;  // likewise: whether it wrote the sums of norm
    bool is_parted; // likewise
    uint32_t parity;
    float norm_eps;
};

// Floats of n elements that a projection reads, with room for their sums: x rounded up to 64, then
// the sum of each 16 elements, rounded up to 64. A producer writes them where gi_gemv_wants_sums.
uint32_t gi_x_size(uint32_t n);

// Sets the offsets; range.buffer stays as it is. Returns the bytes that the range must have.
uint64_t gi_stream_layout(struct gi_stream *stream, uint32_t n_embd, uint32_t n_rot,
                          float norm_eps);

// Types of a cache's elements; the twin of glsl/attention/cache_type.glsl.
enum gi_cache_type {
    GI_CACHE_F16, // pairs
    GI_CACHE_F32,
    GI_CACHE_Q8_0, // a byte an element, and for 32 of a row an f16 scale, apart
    GI_CACHE_Q4_0, // a nibble an element, scales likewise
    GI_CACHE_TYPE_COUNT,
};
// Returns "f16" and so on.
const char *gi_cache_type_name(enum gi_cache_type type);
// True for q8_0 and q4_0, which have a scale for every 32 elements of a row.
bool gi_cache_has_blocks(enum gi_cache_type type);

// One layer's cache with the query of the current decode step in front. One storage range of uints:
//   q  (n_head, head_dim)            f32, pair order
//   k  (n_kv_head, n_ctx, head_dim)  pair order, after RoPE; blocks: rows padded to 16 bytes
//      (n_kv_head, n_ctx, head_dim / 32)  scales of blocks, rows padded to a uint
//   v  likewise
struct gi_kv_layer {
    struct gi_range range;
    uint32_t n_head, n_kv_head, head_dim, n_ctx; // head_dim is a multiple of 8
    uint32_t k, v;                               // offsets in uints, multiples of 4; q is at 0
    uint32_t k_scale, v_scale;                   // likewise, of blocks
    enum gi_cache_type type_k, type_v;
    // Bytes from one slot's to the next's, a multiple of 256. 0 but in a joint list, where range is
    // that of all slots.
    uint64_t slot_size;
};

// Bytes that a row of head_dim elements takes, its scales included.
uint32_t gi_cache_row_size(enum gi_cache_type type, uint32_t head_dim);

// Rows of n_kv_head heads that lie one behind the other in a layer's range: head h has its row of
// position 0 at offset + h * head_stride. All in bytes; row_size may be 0.
struct gi_cache_plane {
    uint64_t offset, head_stride;
    uint32_t row_size;
};
enum { GI_CACHE_PLANES = 4 };
// Fills those of keys, their scales, values, their scales.
void gi_kv_layer_planes(const struct gi_kv_layer *layer,
                        struct gi_cache_plane planes[GI_CACHE_PLANES]);

// Sets the offsets; returns the bytes that the range must have. The offsets hold if a device can
// bind as many.
uint64_t gi_kv_layer_layout(struct gi_kv_layer *layer, uint32_t n_head, uint32_t n_kv_head,
                            uint32_t head_dim, uint32_t n_ctx, enum gi_cache_type type_k,
                            enum gi_cache_type type_v);

#endif
