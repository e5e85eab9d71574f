// residual += scale * (W x + bias); norm = residual * gamma; ssq = partial sums of residual^2.
//
//   dst     stream: residual (n_embd) read and written, norm (n_embd), ssq
//   source  x (n_cols)
//   W       (n_rows, n_cols)
//   aux     bias and gamma, one value a row
//
// Whoever writes the residual also leaves what the next norm needs: the product with its weights, and
// the sum of squares in parts that the next projection adds up, so that no dispatch is a norm's. A part
// is a group's, or with WG_SIZE 8 an invocation's: there is no barrier then. Sizes: lib/gemv.glsl.
#include "lib/common.glsl"

#ifndef HAS_BIAS
#error "HAS_BIAS: 1 if aux holds a bias"
#endif
#ifndef HAS_GAMMA
#error "HAS_GAMMA: 1 if aux holds the weights of the norm that follows"
#endif

layout(std140, binding = 0) uniform Params
{
    uint n_block, n_pair, source, bias;
    uint gamma, residual, norm, ssq;
    uint row_begin, n_embd;
    float scale;
} params;

layout(std430, binding = 0) restrict buffer Stream { float stream[]; };

#define GEMV_NORM 0

#include "lib/gemv.glsl"
#include "lib/reduce.glsl"

float own_ssq = 0.0;

uvec2 gemv_tiles(uint pair)
{
    return uvec2(2u * pair, 2u * pair + 1u);
}

// row counts from the start of the part.
void add_row(uint row, float y)
{
#if HAS_BIAS
    y += uintBitsToFloat(aux_at(params.bias + row));
#endif
    uint n = params.row_begin + row;
    if (n >= params.n_embd) {
        return;
    }
    float r = stream[params.residual + n] + params.scale * y;
    stream[params.residual + n] = r;
#if HAS_GAMMA
    stream[params.norm + n] = r * uintBitsToFloat(aux_at(params.gamma + row));
#else
    stream[params.norm + n] = r;
#endif
    own_ssq += r * r;
}

void gemv_finish(uint pair, uint row, vec2 y)
{
    add_row(pair * 16u + row, y.x);
    add_row(pair * 16u + row + 8u, y.y);
}

void main()
{
    gemv_run();
#if WG_SIZE == 8
    stream[params.ssq + gl_GlobalInvocationID.x] = own_ssq;
#else
    float ssq = reduce_sum(own_ssq, uint(GEMV_OWNERS));
    if (gl_LocalInvocationIndex == 0u) {
        stream[params.ssq + gl_WorkGroupID.x] = ssq;
    }
#endif
}
