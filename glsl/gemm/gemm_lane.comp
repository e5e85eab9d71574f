// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, in
// registers: gemm/product.glsl.
//
// A group owns 64 rows and TOKENS tokens and walks over all of k by blocks of 32; an invocation
// owns one row, dequantises it for all the tokens, and reads x at an index that is the same for the
// whole group, at distances that the compiler knows. Uses no shared memory, which is no faster than
// a buffer on the GPUs that this is for, and few registers: the tiles of gemm.comp spill there.
// Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"

#if !defined(TOKENS) || !defined(X_STRIDE)
#error "TOKENS of a group, at most those that x has room for; X_STRIDE of x"
#endif

layout(local_size_x = 64) in;

// Adds a block, a quad at a time, in a loop that no compiler can unroll: with all weights of a
// block at once, or with many loads of x in flight, registers run out.
void add_block(QuantBlock w, uint at, inout float sum[TOKENS])
{
    for (uint i = 0u; i < 8u + (params.n_block >> 31u); i++, at++) {
        vec4 quad = quant_quad(w, int(i));
        for (int t = 0; t < TOKENS; t++) {
            sum[t] += dot(quad, x[at + uint(t * X_STRIDE / 4)]);
        }
    }
}

void main()
{
    uint row = (gl_WorkGroupID.x + first_group) * 64u + gl_LocalInvocationID.x;
    uint first_token = gl_WorkGroupID.y * uint(TOKENS);
    // The last group reads the last TOKENS tokens, and writes those that no other has.
    uint token = min(first_token, max(state.n_tokens, uint(TOKENS)) - uint(TOKENS));
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        sum[t] = 0.0;
    }
    for (uint block = 0u; block < params.n_block; block++) {
        uint safe_row = min(row, params.n_rows - 1u); // takes no register from block to block
        add_block(quant_load(safe_row / TILE_ROWS, block, params.n_block, safe_row % TILE_ROWS),
                  token * uint(X_STRIDE / 4) + block * 8u, sum);
    }
    for (int t = 0; t < TOKENS; t++, token++) {
        if (token >= first_token && token < state.n_tokens && row < params.n_rows) {
            write_product(token, row, sum[t]);
        }
    }
}
