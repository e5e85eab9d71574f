// Mamba-2 of a decode step, from a projection's row to what a norm or the output projection reads
// (ssm/ssm.glsl).
//
//   out      (n_head, DIM)           written
//   source   the projection's row
//   vectors  convolution (n_channel, TAPS) and its bias (n_channel); bias of dt, rate of decay and
//            skip (n_head)
//   state    ring and matrix         read and written, unless the answer is at its end
//
// Group (tile, head) owns COLUMNS columns of a head's matrix, an invocation four of them of every
// N_SLICE-th row, and convolves what it needs by itself. The matrix is read and written once: bound by
// memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "lib/is_over.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 source[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict buffer Memory { vec4 memory[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_head, n_group;
    uint channels, dt; // columns of source
    uint taps, taps_bias, dt_bias, decay_rate, skip; // offsets in vectors
    uint matrix; // offset in the state; the ring is at 0
} params;

#include "ssm/ssm.glsl"

#ifndef COLUMNS
#error "COLUMNS of a group: a divisor of DIM, a multiple of 4"
#endif

#define N_QUAD uint(COLUMNS / 4)
#define N_SLICE (uint(WG_SIZE) / N_QUAD)
#define B_QUAD N_QUAD // in lines
#define C_QUAD (N_QUAD + uint(STATE_DIM / 4))

// x, b and c, one behind the other; sums over the rows of a slice.
shared float lines[COLUMNS + 2 * STATE_DIM];
shared float sums[4 * WG_SIZE];

float source_at(uint i)
{
    return source[i / 4u][i % 4u];
}

float vector_at(uint i)
{
    return vectors[i / 4u][i % 4u];
}

// The channel of four elements of the lines of a head.
uint channel_of(uint head, uint quad)
{
    uint group = head / (params.n_head / params.n_group);
    uint b = params.n_head * uint(DIM) + group * uint(STATE_DIM);
    uint at = 4u * quad;
    return quad < B_QUAD   ? head * uint(DIM) + gl_WorkGroupID.x * uint(COLUMNS) + at
           : quad < C_QUAD ? b + at - 4u * B_QUAD
                           : b + params.n_group * uint(STATE_DIM) + at - 4u * C_QUAD;
}

vec4 convolve(uint channel, uint n_channel)
{
    uint first = (params.taps + channel * uint(TAPS)) / 4u;
    vec4 sum = vectors[(params.taps_bias + channel) / 4u];
    for (int t = 0; t < TAPS - 1; t++) {
        uint back = uint(TAPS - 1 - t);
        uint row = (state.n_past + uint(TAPS) - back) % uint(TAPS);
        vec4 past = back <= state.n_past ? memory[(row * n_channel + channel) / 4u] : vec4(0.0);
        sum += tap_of(first, t) * past;
    }
    return silu(sum + tap_of(first, TAPS - 1) * source[(params.channels + channel) / 4u]);
}

// Leaves x, b and c in lines, and the projection in the ring: of b and c by the first of their groups.
void load_lines(uint head)
{
    uint n_channel = params.n_head * uint(DIM) + 2u * params.n_group * uint(STATE_DIM);
    uint row = state.n_past % uint(TAPS) * n_channel;
    bool is_first = gl_WorkGroupID.x == 0u && head % (params.n_head / params.n_group) == 0u;
    for (uint i = gl_LocalInvocationIndex; i < C_QUAD + uint(STATE_DIM / 4); i += uint(WG_SIZE)) {
        uint channel = channel_of(head, i);
        vec4 line = convolve(channel, n_channel);
        for (uint j = 0u; j < 4u; j++) {
            lines[4u * i + j] = line[j];
        }
        if ((i < B_QUAD || is_first) && !IS_OVER) {
            memory[(row + channel) / 4u] = source[(params.channels + channel) / 4u];
        }
    }
    group_barrier();
}

void main()
{
    uint head = gl_WorkGroupID.y, lane = gl_LocalInvocationIndex;
    uint quad = lane % N_QUAD, slice = lane / N_QUAD;
    uint first = (params.matrix + head * uint(STATE_DIM * DIM) + gl_WorkGroupID.x * uint(COLUMNS)) / 4u + quad;
    load_lines(head);
    float dt = softplus(source_at(params.dt + head) + vector_at(params.dt_bias + head));
    float decay = exp_negative(vector_at(params.decay_rate + head) * dt);
    vec4 x = vec4(lines[4u * quad], lines[4u * quad + 1u], lines[4u * quad + 2u], lines[4u * quad + 3u]) * dt;
    vec4 sum = vec4(0.0);
    for (uint i = slice; i < uint(STATE_DIM); i += N_SLICE) {
        uint at = first + i * uint(DIM / 4);
        vec4 s = state.n_past == 0u ? vec4(0.0) : memory[at] * decay;
        s += lines[4u * B_QUAD + i] * x;
        sum += lines[4u * C_QUAD + i] * s;
        if (!IS_OVER) {
            memory[at] = s;
        }
    }
    for (uint j = 0u; j < 4u; j++) {
        sums[slice * uint(COLUMNS) + 4u * quad + j] = sum[j];
    }
    group_barrier();
    for (uint i = lane; i < uint(COLUMNS); i += uint(WG_SIZE)) {
        float y = vector_at(params.skip + head) * lines[i];
        for (uint j = 0u; j < N_SLICE; j++) {
            y += sums[j * uint(COLUMNS) + i];
        }
        uint at = head * uint(DIM) + gl_WorkGroupID.x * uint(COLUMNS) + i;
        float z = source_at(at);
        result[at] = y * (z / (1.0 + exp(-z)));
    }
}
