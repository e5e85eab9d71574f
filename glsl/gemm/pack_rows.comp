// x[m] in f16 in its own place, as gemm/packed_rows.glsl has it, for the rows of a batch.
//
//   x  (n_tokens, x_stride)  read in f32, written in f16
//
// A group owns a token. It takes WG_SIZE words at a time, reads all of them before it writes, and
// never writes past what it has read. Columns past `width` are zero up to a whole block of 32.
// Reads each element twice: bound by dispatches.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#include "gemm/packed_rows.glsl"

layout(std430, binding = 0) restrict buffer X { uvec4 x[]; };

#include "params/half_rows.glsl"

shared float largest[WG_SIZE];

float largest_of_quad(uvec4 bits)
{
    vec4 size = abs(uintBitsToFloat(bits));
    return max(max(size.x, size.y), max(size.z, size.w));
}

// Returns the largest magnitude of the row that begins there.
float largest_of_row(uint lane, uint begin)
{
    float size = 0.0;
    for (uint i = lane; i < params.width / 4u; i += uint(WG_SIZE)) {
        size = max(size, largest_of_quad(x[begin + i]));
    }
    largest[lane] = size;
    group_barrier();
    for (uint n = uint(WG_SIZE) / 2u; n > 0u; n /= 2u) {
        if (lane < n) {
            largest[lane] = max(largest[lane], largest[lane + n]);
        }
        group_barrier();
    }
    return largest[0];
}

// Returns a quad of the row that begins there, zero past its width.
uvec4 quad_of(uint begin, uint quad)
{
    uvec4 value = x[begin + quad];
    return quad < params.width / 4u ? value : uvec4(0u);
}

uvec4 pack_word(uvec4 a_bits, uvec4 b_bits, float factor)
{
    vec4 a = factor * uintBitsToFloat(a_bits), b = factor * uintBitsToFloat(b_bits);
    return uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
}

void main()
{
    uint lane = gl_LocalInvocationIndex, n_word = (params.width + 31u) / 32u * 4u;
    bool is_there = gl_WorkGroupID.x < state.n_tokens;
    uint begin = min(gl_WorkGroupID.x, state.n_tokens - 1u) * (params.x_stride / 4u);
    uint exponent = packed_exponent(largest_of_row(lane, begin));
    float factor = packed_factor(exponent);
    for (uint first = 0u; first < n_word; first += uint(WG_SIZE)) {
        uint word = min(first + lane, n_word - 1u);
        uvec4 halves = pack_word(quad_of(begin, 2u * word), quad_of(begin, 2u * word + 1u), factor);
        memoryBarrierBuffer();
        barrier();
        if (is_there && first + lane < n_word) {
            x[begin + word] = halves;
        }
    }
    memoryBarrierBuffer();
    barrier();
    if (is_there && lane == 0u) {
        x[begin + n_word] = uvec4(packed_scale(exponent), 0u, 0u, 0u);
    }
}
