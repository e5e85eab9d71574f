// Products of a batch in f32: y[m] = W x[m] + bias, or with ADD y[m] += scale * (W x[m] + bias).
//
//   y        (n_tokens, y_stride), columns y_begin ... y_begin + n_rows of it written
//   x        (n_tokens, x_stride), with TEXELS 1 declared by the kernel
//   quads, aux  one part of W (n_rows, 32 n_block), and bias (n_rows) at bias in aux
//
// With EXPERTS 1 the rows of x and y are sorted by expert (gemm/expert_tile.glsl).
#if !defined(ADD) || !defined(HAS_BIAS)
#error "ADD: 1 to add to y, 0 to write it; HAS_BIAS: 1 if the part carries a bias"
#endif

#ifndef EXPERTS
#define EXPERTS 0
#endif

#include "lib/step_state.glsl"
#include "quant/quant.glsl"

layout(std430, binding = 0) restrict buffer Y { float y[]; };
#if !TEXELS
layout(std430, binding = 1) restrict readonly buffer X { vec4 x_quads[]; };
#endif

#include "params/gemm.glsl"

#include "gemm/expert_tile.glsl"

float product_bias(uint row)
{
#if HAS_BIAS
    return uintBitsToFloat(aux_at(params.bias + row));
#else
    return 0.0;
#endif
}

// Writes a result with its bias to a place in y.
void write_result(uint place, float value)
{
#if ADD
    y[place] += params.scale * value;
#else
    y[place] = value;
#endif
}

// Writes an element of the product, of which token and row are there.
void write_product(uint token, uint row, float value)
{
    write_result(token * params.y_stride + params.y_begin + row, value + product_bias(FIRST_ROW + row));
}
