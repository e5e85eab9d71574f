// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, in registers.
//
//   y        (n_tokens, y_stride), columns y_begin ... y_begin + n_rows of it written
//   x        (n_tokens, x_stride)
//   quads, aux  one part of W (n_rows, 32 n_block), and bias (n_rows) at bias in aux
//
// A group owns 64 rows and TOKENS tokens and walks over all of k by blocks of 32; an invocation owns
// one row, dequantises it for all the tokens, and reads x at an index that is the same for the whole
// group. With SMALL a group walks over all tokens instead, TOKENS at a time: V3D's compiler knows that a
// loop counter is uniform, which it does not know of a work group's number, and then reads x with the
// uniforms, not through the texture unit. Uses no shared memory, which is no faster than a buffer on
// the GPUs that this is for, and few registers: the tiles of gemm.comp spill there. Figures:
// glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HAS_BIAS) || !defined(TOKENS) || !defined(SMALL)
#error "ADD: 1 to add to y; HAS_BIAS: 1 if the part carries a bias; TOKENS at a time; SMALL: 1 to loop"
#endif

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

#include "quant/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
} params;

void write_result(uint token, uint row, float value)
{
    if (token >= state.n_tokens || row >= params.n_rows) {
        return;
    }
#if HAS_BIAS
    value += uintBitsToFloat(aux[params.bias + row]);
#endif
    uint place = token * params.y_stride + params.y_begin + row;
#if ADD
    y[place] += params.scale * value;
#else
    y[place] = value;
#endif
}

// Adds a block, two quads at a time, in a loop that no compiler can unroll: with all weights of a
// block at once, or with many loads of x in flight, registers run out.
void add_block(QuantBlock w, uint at, uint begin[TOKENS], inout float sum[TOKENS])
{
    for (uint i = 0u; i < 4u + (params.n_block >> 31u); i++) {
        vec4 first = quant_quad(w, int(2u * i)), second = quant_quad(w, int(2u * i + 1u));
        for (int t = 0; t < TOKENS; t++) {
            sum[t] += dot(first, x[begin[t] + at + 2u * i]);
        }
        for (int t = 0; t < TOKENS; t++) {
            sum[t] += dot(second, x[begin[t] + at + 2u * i + 1u]);
        }
    }
}

void multiply(uint row, uint first_token)
{
    uint safe_row = min(row, params.n_rows - 1u);
    uint begin[TOKENS];
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = min(first_token + uint(t), state.n_tokens - 1u) * (params.x_stride / 4u);
        sum[t] = 0.0;
    }
    for (uint block = 0u; block < params.n_block; block++) {
        add_block(quant_load(safe_row / TILE_ROWS, block, params.n_block, safe_row % TILE_ROWS),
                  block * 8u, begin, sum);
    }
    for (int t = 0; t < TOKENS; t++) {
        write_result(first_token + uint(t), row, sum[t]);
    }
}

void main()
{
    uint row = gl_WorkGroupID.x * 64u + gl_LocalInvocationID.x;
#if SMALL
    for (uint first_token = 0u; first_token < state.n_tokens; first_token += uint(TOKENS)) {
        multiply(row, first_token);
    }
#else
    multiply(row, gl_WorkGroupID.y * uint(TOKENS));
#endif
}
