// Mamba-2 of a decode step, from a projection's row to what a norm or the output projection reads
// (ssm/ssm.glsl).
//
//   out      (n_head, DIM)           written
//   source   the projection's row
//   vectors  convolution (n_channel, TAPS) and its bias (n_channel); bias of dt, rate of decay and
//            skip (n_head)
//   state    ring and matrix         read and written, unless the answer is at its end
//
// Group (tile, head) owns COLUMNS columns of a head's matrix, an invocation four of them of four rows of
// every 4 N_SLICE, and convolves what it needs by itself. The matrix is read and written once: bound by
// memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "lib/is_over.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 source[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict buffer Memory { vec4 memory[]; };

#include "params/ssm.glsl"

#include "ssm/ssm.glsl"

#ifndef COLUMNS
#error "COLUMNS of a group: a divisor of DIM, a multiple of 4"
#endif

#define N_QUAD uint(COLUMNS / 4)
#define N_SLICE (uint(WG_SIZE) / N_QUAD)
#define STATE_QUADS uint(STATE_DIM / 4)
#define B_QUAD N_QUAD // in lines
#define C_QUAD (N_QUAD + STATE_QUADS)

// x, b and c concatenated; dt and decay; sums over the rows of a slice.
shared vec4 lines[COLUMNS / 4 + STATE_DIM / 2];
shared vec2 scalars[1];
shared vec4 sums[WG_SIZE];

float source_at(uint i)
{
    return source[i / 4u][i % 4u];
}

float vector_at(uint i)
{
    return vectors[i / 4u][i % 4u];
}

// The quad of channels that a quad of lines is of.
uint channels_of(uint head, uint quad)
{
    uint group = head / (params.n_head / params.n_group);
    uint b = params.n_head * uint(DIM / 4) + group * STATE_QUADS;
    return quad < B_QUAD   ? head * uint(DIM / 4) + gl_WorkGroupID.x * N_QUAD + quad
           : quad < C_QUAD ? b + quad - B_QUAD
                           : b + params.n_group * STATE_QUADS + quad - C_QUAD;
}

vec4 convolve(uint quad, uint n_quad, vec4 own)
{
    uint first = params.taps / 4u + quad * uint(TAPS);
    vec4 sum = vectors[params.taps_bias / 4u + quad] + tap_of(first, TAPS - 1) * own;
    for (int t = 0; t < TAPS - 1; t++) {
        uint back = uint(TAPS - 1 - t);
        uint row = (state.n_past + uint(TAPS) - back) % uint(TAPS);
        vec4 past = back <= state.n_past ? memory[row * n_quad + quad] : vec4(0.0);
        sum += tap_of(first, t) * past;
    }
    return silu(sum);
}

// Leaves x, b and c in lines, and the projection in the ring: of b and c by the first of their groups.
void load_lines(uint head)
{
    uint n_quad = params.n_head * uint(DIM / 4) + 2u * params.n_group * STATE_QUADS;
    uint row = state.n_past % uint(TAPS) * n_quad;
    bool is_first = gl_WorkGroupID.x == 0u && head % (params.n_head / params.n_group) == 0u;
    for (uint i = gl_LocalInvocationIndex; i < C_QUAD + STATE_QUADS; i += uint(WG_SIZE)) {
        uint quad = channels_of(head, i);
        vec4 own = source[params.channels / 4u + quad];
        lines[i] = convolve(quad, n_quad, own);
        if ((i < B_QUAD || is_first) && !IS_OVER) {
            memory[row + quad] = own;
        }
    }
    if (gl_LocalInvocationIndex == uint(WG_SIZE - 1)) {
        float dt = softplus(source_at(params.dt + head) + vector_at(params.dt_bias + head));
        scalars[0] = vec2(dt, exp_negative(vector_at(params.decay_rate + head) * dt));
    }
    group_barrier();
}

void main()
{
    uint head = gl_WorkGroupID.y, lane = gl_LocalInvocationIndex;
    uint quad = lane % N_QUAD, slice = lane / N_QUAD, column = gl_WorkGroupID.x * N_QUAD + quad;
    uint first = params.matrix / 4u + head * uint(STATE_DIM * DIM / 4) + column;
    load_lines(head);
    vec2 scalar = scalars[0];
    vec4 x = lines[quad] * scalar.x, sum = vec4(0.0);
    for (uint i = slice; i < STATE_QUADS; i += N_SLICE) {
        vec4 b = lines[B_QUAD + i], c = lines[C_QUAD + i];
        for (int j = 0; j < 4; j++) {
            uint at = first + (4u * i + uint(j)) * uint(DIM / 4);
            vec4 s = state.n_past == 0u ? vec4(0.0) : memory[at] * scalar.y;
            s += b[j] * x;
            sum += c[j] * s;
            if (!IS_OVER) {
                memory[at] = s;
            }
        }
    }
    sums[lane] = sum;
    group_barrier();
    if (lane < N_QUAD) {
        vec4 y = vector_at(params.skip + head) * lines[lane];
        uint n_slice = state.n_tokens > 0u ? N_SLICE : 0u; // as ssm_scan.comp has it
        for (uint j = 0u; j < n_slice; j++) {
            y += sums[j * N_QUAD + lane];
        }
        uint at = head * uint(DIM / 4) + column;
        result[at] = y * silu(source[at]);
    }
}
