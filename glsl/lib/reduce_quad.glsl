// Sums of four values each over all invocations of a group, beside those of lib/reduce.glsl: the same
// rules hold.

shared vec4 reduce_quads[WG_SIZE];

vec4 reduce_sum_quad(vec4 value)
{
    uint lane = gl_LocalInvocationIndex;
    reduce_quads[lane] = value;
    group_barrier();
    for (uint n = uint(WG_SIZE) / 2u; n > 0u; n /= 2u) {
        if (lane < n) {
            reduce_quads[lane] += reduce_quads[lane + n];
        }
        group_barrier();
    }
    return reduce_quads[0];
}
