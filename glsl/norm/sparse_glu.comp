// act[m][i] = f(max(g - cutoff, 0)) * u, the cutoff from the mean and standard deviation of a token's g:
//   cutoff = mean(g) + deviations * sqrt(sum (g - mean(g))^2 / (n - 1))
// A sparsely activated gated network.
//
//   act      (n_tokens, act_stride)      n columns written
//   gate_up  (n_tokens, gate_up_stride)  g in front, u from up_begin on
//
// Groups of a token share its columns; each reads all of g twice, tens of kilobytes, the second time from a cache.
// Bound by the dispatch in a step, by memory in a batch, whose tokens have one group.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"
#include "norm/activation.glsl"

layout(std430, binding = 0) restrict writeonly buffer Act { vec4 act[]; };
layout(std430, binding = 1) restrict readonly buffer GateUp { vec4 gate_up[]; };

#include "params/sparse_glu.glsl"

float find_cutoff(uint at)
{
    uint n_quad = params.n / 4u;
    float sum = 0.0, squares = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        sum += dot(gate_up[at + i], vec4(1.0));
    }
    float mean = reduce_sum(sum, uint(WG_SIZE)) / float(params.n);
    group_barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 distance_to = gate_up[at + i] - mean;
        squares += dot(distance_to, distance_to);
    }
    squares = reduce_sum(squares, uint(WG_SIZE));
    return mean + params.deviations * sqrt(squares / float(params.n - 1u));
}

void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint at = token * params.gate_up_stride / 4u;
    float cutoff = find_cutoff(at);
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? params.n / 4u : 0u;
    for (uint i = gl_GlobalInvocationID.x; i < n_own; i += params.n_step) {
        vec4 gate = max(gate_up[at + i] - cutoff, 0.0);
        act[token * params.act_stride / 4u + i] =
            activate(gate) * linear_factor(gate_up[at + params.up_begin / 4u + i]);
    }
}
