// The gated delta rule over a prompt's batch, token after token (delta/delta.glsl).
//
//   out     (n_tokens, out_stride)  o (n_head, DIM) written
//   y       (n_tokens, y_stride)    what delta_conv.comp leaves
//   x       (n_tokens, x_stride)    the projection, whose last rows become the ring
//   state   ring written, matrix read and written
//
// Group (tile, head) owns COLUMNS columns of a head's matrix, which it has in registers: an invocation
// every N_SLICE-th row of one column. Tokens come by N_STAGED into shared memory; a token then takes
// one barrier, in which the sums of the slices meet. Bound by the latency of that, and where groups
// are few by shared memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer Y { float y[]; };
layout(std430, binding = 2) restrict readonly buffer X { float x[]; };
layout(std430, binding = 3) restrict buffer Memory { float memory[]; };

layout(std140, binding = 0) uniform Params
{
    uint x_stride, y_stride, out_stride, n_head, n_k_head;
    uint matrix; // offset in the state; the ring is at 0
} params;

#if !defined(DIM) || !defined(TAPS)
#error "DIM of a head, a multiple of 16; TAPS: tokens that the convolution sees"
#endif

#define N_SLICE 8u
#define COLUMNS uint(WG_SIZE / 8)
#define ROWS_EACH (DIM / 8) // of the matrix, an invocation
#define N_STAGED 4u

shared float keys[4 * DIM], queries[4 * DIM], values[4 * WG_SIZE / 8], scalars[4 * 3];
shared vec2 sums[2 * WG_SIZE];

// Stages tokens first ... first + N_STAGED - 1; past the last one its own again.
void stage(uint first, uint head, uint column)
{
    uint k_head = head % params.n_k_head, n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    for (uint i = gl_LocalInvocationIndex; i < N_STAGED * uint(DIM); i += uint(WG_SIZE)) {
        uint row = min(first + i / uint(DIM), state.n_tokens - 1u) * params.y_stride;
        uint at = row + k_head * uint(DIM) + i % uint(DIM);
        queries[i] = y[at];
        keys[i] = y[at + params.n_k_head * uint(DIM)];
    }
    uint lane = gl_LocalInvocationIndex;
    if (lane < N_STAGED * COLUMNS) {
        uint row = min(first + lane / COLUMNS, state.n_tokens - 1u) * params.y_stride;
        values[lane] = y[row + (2u * params.n_k_head + head) * uint(DIM) + column + lane % COLUMNS];
    }
    if (lane < N_STAGED) {
        uint tail = min(first + lane, state.n_tokens - 1u) * params.y_stride + n_channel;
        scalars[3u * lane] = y[tail + 2u * head];
        scalars[3u * lane + 1u] = y[tail + 2u * head + 1u];
        scalars[3u * lane + 2u] = y[tail + 2u * params.n_head + k_head];
    }
}

// Copies the channels of a head of v, and those of its q and k if it is the first that has them.
void keep_ring(uint head)
{
    uint n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    uint n_row = min(state.n_tokens, uint(TAPS - 1));
    uint n_line = head < params.n_k_head ? 3u : 1u;
    for (uint i = gl_LocalInvocationIndex; i < n_row * n_line * uint(DIM); i += uint(WG_SIZE)) {
        uint m = state.n_tokens - n_row + i / (n_line * uint(DIM));
        uint line = i / uint(DIM) % n_line;
        uint first = line == 0u ? 2u * params.n_k_head + head : line == 1u ? head : params.n_k_head + head;
        uint channel = first * uint(DIM) + i % uint(DIM);
        memory[(state.n_past + m) % uint(TAPS) * n_channel + channel] = x[m * params.x_stride + channel];
    }
}

void main()
{
    uint head = gl_WorkGroupID.y, column = gl_WorkGroupID.x * COLUMNS, lane = gl_LocalInvocationIndex;
    uint own = lane % COLUMNS, slice = lane / COLUMNS;
    uint first = params.matrix + head * uint(DIM * DIM) + slice * uint(DIM) + column + own;
    float s[ROWS_EACH];
    for (uint r = 0u; r < uint(ROWS_EACH); r++) {
        s[r] = state.n_past == 0u ? 0.0 : memory[first + r * N_SLICE * uint(DIM)];
    }
    for (uint m = 0u; m < state.n_tokens; m++) {
        uint staged = m % N_STAGED;
        if (staged == 0u) { // the same in all invocations
            group_barrier();
            stage(m, head, column);
            group_barrier();
        }
        vec2 sum = vec2(0.0);
        for (uint r = 0u; r < uint(ROWS_EACH); r++) {
            uint i = staged * uint(DIM) + r * N_SLICE + slice;
            sum += s[r] * vec2(keys[i], queries[i]);
        }
        uint turn = m % 2u * uint(WG_SIZE);
        sums[turn + lane] = sum;
        group_barrier();
        sum = vec2(0.0);
        for (uint i = own; i < uint(WG_SIZE); i += COLUMNS) {
            sum += sums[turn + i];
        }
        float decay = scalars[3u * staged];
        float change = scalars[3u * staged + 1u] * (values[staged * COLUMNS + own] - decay * sum.x);
        for (uint r = 0u; r < uint(ROWS_EACH); r++) {
            s[r] = decay * s[r] + keys[staged * uint(DIM) + r * N_SLICE + slice] * change;
        }
        if (slice == 0u) {
            result[m * params.out_stride + head * uint(DIM) + column + own] =
                decay * sum.y + scalars[3u * staged + 2u] * change;
        }
    }
    for (uint r = 0u; r < uint(ROWS_EACH); r++) {
        memory[first + r * N_SLICE * uint(DIM)] = s[r];
    }
    if (gl_WorkGroupID.x == 0u) {
        keep_ring(head);
    }
}
