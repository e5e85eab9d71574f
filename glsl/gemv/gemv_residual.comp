// residual += scale * (W x + bias); norm = residual * gamma; ssq = partial sums of residual^2.
//
//   dst     stream: residual (n_embd) read and written, norm (n_embd), with WRITE_SUMS its sums, ssq
//   source  x (n_cols)
//   W       (n_rows, n_cols)
//   aux     bias and gamma, one value a row
//
// The kernel that writes the residual also stores the input of the next norm: the product with its
// weights, and partial sums of squares that the next projection adds up, so that a norm takes no
// dispatch. A part is a group's, or with WG_SIZE 8 an invocation's: there is no barrier then. Sizes:
// gemv/gemv.glsl.
#include "lib/common.glsl"
#include "lib/publish.glsl"

#if !defined(HAS_BIAS) || !defined(HAS_GAMMA)
#error "HAS_BIAS, HAS_GAMMA: 1 if aux holds a bias, the weights of the norm that follows"
#endif

#include "params/gemv_residual.glsl"

layout(std430, binding = 0) restrict buffer Stream { float stream[]; };

#define GEMV_NORM 0

#include "gemv/gemv.glsl"
#include "gemv/gemv_pairs.glsl"
#include "gemv/gemv_sums.glsl"
#include "lib/reduce.glsl"

float own_ssq = 0.0;

// The residual, bias and gamma of the owner's two rows.
vec2 residual;
#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif
#if HAS_GAMMA
vec2 gamma;
#else
const vec2 gamma = vec2(1.0);
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    bias = gemv_aux(params.bias, pair, row);
#endif
#if HAS_GAMMA
    gamma = gemv_aux(params.gamma, pair, row);
#endif
}

void gemv_prepare(uint pair, uint row)
{
#if ADAPTER_IS_BIAS
    bias += gemv_adapter(pair, row);
#endif
    row += pair * 16u;
    uvec2 n = min(uvec2(row, row + 8u) + params.row_begin, params.n_embd - 1u);
    residual = vec2(stream[params.residual + n.x], stream[params.residual + n.y]);
}

void write_row(uint n, float r, float weight)
{
    if (n < params.n_embd) {
        stream[params.residual + n] = r;
        stream[params.norm + n] = PUBLISH(r * weight);
        own_ssq += r * r;
    }
}

void gemv_finish(uint pair, uint row, vec2 y)
{
    uint n = params.row_begin + pair * 16u + row;
    vec2 r = residual + params.scale * (y + bias);
    write_row(n, r.x, gamma.x);
    write_row(n + 8u, r.y, gamma.y);
#if WRITE_SUMS
    vec2 norm = mix(vec2(0.0), r * gamma, lessThan(uvec2(n, n + 8u), uvec2(params.n_embd)));
    gemv_note(pair, row, norm.x + norm.y);
#endif
}

// Writes the group's part of the sum of squares.
void write_ssq(float ssq)
{
    if (gl_LocalInvocationIndex == 0u) {
        stream[params.ssq + GEMV_GROUP] = PUBLISH(ssq);
    }
}

void main()
{
    gemv_run();
#if WG_SIZE == 8 && PIECES
    stream[params.ssq + GEMV_GROUP * 8u + gl_LocalInvocationIndex] = PUBLISH(own_ssq);
#elif WG_SIZE == 8
    stream[params.ssq + gl_GlobalInvocationID.x] = PUBLISH(own_ssq);
#elif GEMV_SPLIT && SUBGROUP >= GEMV_OWNERS
    write_ssq(sum_lanes(own_ssq, 1, GEMV_OWNERS));
#elif DOT && GEMV_OWNERS <= 64
    write_ssq(reduce_sum_by_eights(own_ssq, uint(GEMV_OWNERS)));
#else
    write_ssq(reduce_sum(own_ssq, GEMV_REDUCED));
#endif
#if WRITE_SUMS // after the barriers of the reduction
    if (gemv_has_sum(1u)) {
        uint sums = params.norm + sums_begin(params.n_embd) + params.row_begin / SUM_SIZE;
        stream[sums + gemv_sum_index(1u)] = gemv_pair_sum(gl_LocalInvocationIndex);
    }
#endif
}
