// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, in
// registers: gemm/product.glsl.
//
// A group owns 64 rows and TOKENS tokens and walks over all of k by blocks of 32; an invocation
// owns one row, dequantises it for all the tokens, and reads x at an index that is the same for the
// whole group. With SMALL a group walks over all tokens instead, TOKENS at a time: V3D's compiler
// knows that a loop counter is uniform, which it does not know of a work group's number, and then
// reads x with the uniforms, not through the texture unit. Uses no shared memory, which is no
// faster than a buffer on the GPUs that this is for, and few registers: the tiles of gemm.comp
// spill there.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"

#if !defined(TOKENS) || !defined(SMALL)
#error "TOKENS at a time; SMALL: 1 to loop"
#endif

layout(local_size_x = 64) in;

void write_result(uint token, uint row, float value)
{
    if (token >= state.n_tokens || row >= params.n_rows) {
        return;
    }
    write_product(token, row, value);
}

// Adds a block, two quads at a time, in a loop that no compiler can unroll: with all weights of a
// block at once, or with many loads of x in flight, registers run out.
void add_block(QuantBlock w, uint at, uint begin[TOKENS], inout float sum[TOKENS])
{
    for (uint i = 0u; i < 4u + (params.n_block >> 31u); i++, at += 2u) {
        vec4 first = quant_quad(w, int(2u * i)), second = quant_quad(w, int(2u * i + 1u));
        for (int t = 0; t < TOKENS; t++) {
            sum[t] += dot(first, x[begin[t] + at]);
            sum[t] += dot(second, x[begin[t] + at + 1u]);
        }
    }
}

void multiply(uint row, uint first_token)
{
    uint begin[TOKENS];
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = min(first_token + uint(t), state.n_tokens - 1u) * (params.x_stride / 4u);
        sum[t] = 0.0;
    }
    for (uint block = 0u; block < params.n_block; block++) {
        uint safe_row = min(row, params.n_rows - 1u); // takes no register from block to block
        add_block(quant_load(safe_row / TILE_ROWS, block, params.n_block, safe_row % TILE_ROWS),
                  block * 8u, begin, sum);
    }
    for (int t = 0; t < TOKENS; t++) {
        write_result(first_token + uint(t), row, sum[t]);
    }
}

void main()
{
    uint row = (gl_WorkGroupID.x + first_group) * 64u + gl_LocalInvocationID.x;
#if SMALL
    for (uint first_token = 0u; first_token < state.n_tokens; first_token += uint(TOKENS)) {
        multiply(row, first_token);
    }
#else
    multiply(row, gl_WorkGroupID.y * uint(TOKENS));
#endif
}
