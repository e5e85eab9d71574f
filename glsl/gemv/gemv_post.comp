// The end of a block whose result y = W x + bias has a norm of its own, which those who read the
// residual work out: it is r + s u then, with s = 1 / rms(y), and gemv.glsl reads it so (PARTED).
//
//   r = c (r + s' u)    of what the residual was, with HAS_UPDATE 1; else c r
//   u = c y * post
//   sums of r^2, r u, u^2 and y^2, a vec4 each group or with WG_SIZE 8 each invocation
//
//   dst     stream (ops/record/stream.h): r and u read and written; r * gamma and u * gamma; sums, of
//           which those of s' are others
//   source  x (n_cols)
//   W       (n_rows, n_cols)
//   aux     bias, post and gamma, one value a row; with SCALED c, else that is 1
//
// s takes all of y, which no group has: it comes with the sums that every reader of the residual
// adds up for its norm anyway, so that no dispatch is a norm's. Sizes: gemv/gemv.glsl.
#include "lib/common.glsl"

#if !defined(HAS_BIAS) || !defined(HAS_GAMMA) || !defined(HAS_UPDATE) || !defined(SCALED)
#error "HAS_BIAS, HAS_GAMMA: 1 if aux holds a bias, the weights of the norm that follows; HAS_UPDATE, SCALED: see above"
#endif

#include "params/gemv_post.glsl"

layout(std430, binding = 0) restrict buffer Stream { float stream[]; };

#define GEMV_NORM 0
#if HAS_UPDATE
#define GEMV_SUM(i) vec4(stream[params.old_sums + 4u * (i) + 3u], 0.0, 0.0, 0.0)
#define GEMV_N_SUM params.n_old
#endif

#include "gemv/gemv.glsl"
#include "gemv/gemv_pairs.glsl"

vec4 own_sums = vec4(0.0);

// The owner's two rows of these.
vec2 residual, post;
#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif
#if HAS_GAMMA
vec2 gamma;
#endif
#if SCALED
float out_scale;
#else
const float out_scale = 1.0;
#endif

#if HAS_UPDATE
float old_scale;

void gemv_begin(vec4 sums)
{
    old_scale = inversesqrt(sums.x * params.inv_n_embd + params.norm_eps);
}
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    bias = gemv_aux(params.bias, pair, row);
#endif
    post = gemv_aux(params.post, pair, row);
#if HAS_GAMMA
    gamma = gemv_aux(params.gamma, pair, row);
#endif
#if SCALED
    out_scale = uintBitsToFloat(aux_at(params.scale));
#endif
}

void gemv_prepare(uint pair, uint row)
{
#if ADAPTER_IS_BIAS
    bias += gemv_adapter(pair, row);
#endif
    row += pair * 16u;
    uvec2 n = params.residual + min(uvec2(row, row + 8u) + params.row_begin, params.n_embd - 1u);
    residual = vec2(stream[n.x], stream[n.y]);
#if HAS_UPDATE
    residual += old_scale * vec2(stream[n.x + params.u_offset], stream[n.y + params.u_offset]);
#endif
    residual *= out_scale;
}

void write_row(uint n, float r, float u, float y, float weight)
{
    if (n < params.n_embd) {
        stream[params.residual + n] = r;
        stream[params.residual + params.u_offset + n] = u;
#if HAS_GAMMA
        stream[params.norm + n] = r * weight;
        stream[params.norm + params.u_offset + n] = u * weight;
#endif
        own_sums += vec4(r * r, r * u, u * u, y * y);
    }
}

void gemv_finish(uint pair, uint row, vec2 y)
{
    uint n = params.row_begin + pair * 16u + row;
    y += bias;
    vec2 u = out_scale * y * post;
#if HAS_GAMMA
    vec2 weight = gamma;
#else
    const vec2 weight = vec2(1.0);
#endif
    write_row(n, residual.x, u.x, y.x, weight.x);
    write_row(n + 8u, residual.y, u.y, y.y, weight.y);
}

void write_sums(uint i, vec4 sums)
{
    uint at = params.sums + 4u * i;
    stream[at] = sums.x;
    stream[at + 1u] = sums.y;
    stream[at + 2u] = sums.z;
    stream[at + 3u] = sums.w;
}

#if WG_SIZE != 8 && !(GEMV_SPLIT && SUBGROUP >= GEMV_OWNERS)
shared vec4 owner_sums[GEMV_OWNERS];

// Returns the sum over the owners, eight by eight, in the first invocation.
vec4 sum_owners()
{
    uint lane = gl_LocalInvocationIndex;
    if (lane < uint(GEMV_OWNERS)) {
        owner_sums[lane] = own_sums;
    }
    group_barrier();
    vec4 sum = vec4(0.0);
    if (lane < uint(GEMV_OWNERS / 8)) {
        for (uint i = 0u; i < 8u; i++) {
            sum += owner_sums[8u * lane + i];
        }
        owner_sums[8u * lane] = sum;
    }
    group_barrier();
    for (uint i = 8u; i < uint(GEMV_OWNERS); i += 8u) {
        sum += owner_sums[i];
    }
    return sum;
}
#endif

void main()
{
    gemv_run();
#if WG_SIZE == 8 && PIECES
    write_sums(GEMV_GROUP * 8u + gl_LocalInvocationIndex, own_sums);
#elif WG_SIZE == 8
    write_sums(gl_GlobalInvocationID.x, own_sums);
#else
#if GEMV_SPLIT && SUBGROUP >= GEMV_OWNERS
    own_sums = sum_lanes(own_sums, 1, GEMV_OWNERS);
#else
    own_sums = sum_owners();
#endif
    if (gl_LocalInvocationIndex == 0u) {
        write_sums(GEMV_GROUP, own_sums);
    }
#endif
}
