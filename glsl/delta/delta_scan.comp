// The gated delta rule over a prompt's batch, token after token (delta/scan.glsl has the bindings).
//
// Group (tile, head) owns COLUMNS columns of a head's matrix, which it has in registers: an invocation
// every N_SLICE-th row of one column. Shared memory takes N_STAGED tokens at a time; a token then needs
// one barrier, after which the sums of the slices are added. Heads may run in pieces. Bound by the latency of
// that barrier, and where groups are few by shared memory.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#include "delta/scan.glsl"

#define N_SLICE 8u
#define COLUMNS uint(WG_SIZE / 8)
#define ROWS_EACH (DIM / 8) // of the matrix, an invocation
#define N_STAGED 4u

shared float keys[4 * DIM], queries[4 * DIM], values[4 * WG_SIZE / 8], scalars[4 * 3];
shared vec2 sums[2 * WG_SIZE];

// Stages tokens first ... first + N_STAGED - 1; past the last one its own again.
void stage(uint first, uint head, uint column)
{
    uint k_head = key_of(head), n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
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

void main()
{
    uint head = gl_WorkGroupID.y + first_group, column = gl_WorkGroupID.x * COLUMNS;
    uint lane = gl_LocalInvocationIndex, own = lane % COLUMNS, slice = lane / COLUMNS;
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
            result[m * params.o_stride + head * uint(DIM) + column + own] =
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
