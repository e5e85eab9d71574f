// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, in
// registers: gemm/product.glsl.
//
// A group owns 64 rows and TOKENS tokens and walks over all of k by blocks of 32; an invocation
// owns one row, dequantises it for all the tokens, and reads x at an index that is the same for the
// whole group, at distances that the compiler knows. Uses no shared memory, which is not faster than
// a buffer on the GPUs that this is for, and few registers: the tiles of gemm.comp spill there. With
// PACKED x are rows of gemm/packed_rows.glsl, of which a load brings twice as many elements, and
// V3D multiplies by either half of a word for nothing. With OWN_ROWS, 2 or 4, an invocation owns as
// many rows: gemm/own_rows.glsl.
// Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#ifdef OWN_ROWS
#define LATE 1 // of quant/quant.glsl
#define COUNT_EARLY // of lib/run_count.glsl
#endif
#include "gemm/product.glsl"

layout(local_size_x = 64) in;

#if !defined(TOKENS) || !defined(X_STRIDE)
#error "TOKENS of a group or with OWN_ROWS of an invocation, at most those that x has room for; X_STRIDE of x"
#endif
#ifdef OWN_ROWS
#include "gemm/own_rows.glsl"
#else
#ifndef PACKED
#define PACKED 0 // 1: x are in f16
#endif

#if EXPERTS
#define N_X_ROW (state.n_tokens * params.n_used)
#else
#define N_X_ROW state.n_tokens
#endif

#if PACKED
#define BLOCK_WORDS 4u // of x, 16 bytes each

float word_product(vec4 a, vec4 b, uvec4 bits)
{
    highp vec2 p = unpackHalf2x16(bits.x), q = unpackHalf2x16(bits.y);
    highp vec2 r = unpackHalf2x16(bits.z), s = unpackHalf2x16(bits.w);
    return (a.x * p.x + a.y * p.y + a.z * q.x + a.w * q.y) +
           (b.x * r.x + b.y * r.y + b.z * s.x + b.w * s.y);
}

void add_word(QuantBlock w, uint word, uint at, inout float sum[TOKENS])
{
    vec4 a = quant_quad(w, int(2u * word)), b = quant_quad(w, int(2u * word + 1u));
    for (int t = 0; t < TOKENS; t++) {
        sum[t] += word_product(a, b, floatBitsToUint(x_quads[at + uint(t * X_STRIDE / 4)]));
    }
}

// The factor of a token's products.
float token_scale(uint token)
{
    return x_quads[token * uint(X_STRIDE / 4) + params.n_block * BLOCK_WORDS].x;
}
#else
#define BLOCK_WORDS 8u

void add_word(QuantBlock w, uint word, uint at, inout float sum[TOKENS])
{
    vec4 quad = quant_quad(w, int(word));
    for (int t = 0; t < TOKENS; t++) {
        sum[t] += dot(quad, x_quads[at + uint(t * X_STRIDE / 4)]);
    }
}

#define token_scale(token) 1.0
#endif

// Adds a block, a word of x at a time, in a loop that no compiler can unroll: with all weights of a
// block at once, or with many loads of x in flight, registers run out.
void add_block(QuantBlock w, uint at, inout float sum[TOKENS])
{
    for (uint i = 0u; i < BLOCK_WORDS + (params.n_block >> 31u); i++, at++) {
        add_word(w, i, at, sum);
    }
}

void main()
{
    uint row = (gl_WorkGroupID.x + first_group) * 64u + gl_LocalInvocationID.x;
    open_product(x_quads[PRODUCT_TILE]);
    uint own_token = FIRST_TOKEN(uint(TOKENS));
    // The last group reads the last TOKENS tokens, and writes those that no other has.
    uint token = min(own_token, max(N_X_ROW, uint(TOKENS)) - uint(TOKENS));
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        sum[t] = 0.0;
    }
    for (uint block = 0u; block < BLOCK_END; block++) {
        uint safe_row = FIRST_ROW + min(row, params.n_rows - 1u); // takes no register from block to block
        add_block(quant_load(safe_row / TILE_ROWS, block, params.n_block, safe_row % TILE_ROWS),
                  X_BEGIN + token * uint(X_STRIDE / 4) + block * BLOCK_WORDS, sum);
    }
    for (int t = 0; t < TOKENS; t++, token++) {
        if (token >= own_token && token < TOKEN_END && row < params.n_rows) {
            write_product(token, row, token_scale(token) * sum[t]);
        }
    }
}
#endif
