// The gated delta rule over a prompt's batch, token after token, by subgroups (delta/scan.glsl has the
// bindings).
//
// Group (tile, head) owns COLUMNS columns of a head's matrix in registers. N_SLICE neighbouring
// invocations have a column between them, every N_SLICE-th pair of its rows each, so that their sums
// meet by shuffles: a token takes no barrier. Tokens come by N_STAGED into shared memory, a pair of
// rows of k and of q to a load of 16 bytes. Heads may run in pieces. Bound by the latency of a token's
// chain: sums, shuffles, the change. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#include "lib/lanes.glsl"
#include "lib/step_state.glsl"
#include "delta/scan.glsl"

#define N_SLICE 8u
#define COLUMNS uint(WG_SIZE / 8)
#define PAIRS uint(DIM / 2) // of rows
#define PAIRS_EACH (DIM / 16)
#define N_STAGED 16u

shared vec4 pairs[16 * DIM / 2]; // two elements of k, the same two of q
shared float values[16 * WG_SIZE / 8];
shared vec4 scalars[16];

// Stages tokens first ... first + N_STAGED - 1; past the last one its own again.
void stage(uint first, uint head, uint column)
{
    uint k_head = key_of(head), n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    uint to_keys = params.n_k_head * uint(DIM), lane = gl_LocalInvocationIndex;
    for (uint i = lane; i < N_STAGED * PAIRS; i += uint(WG_SIZE)) {
        uint row = min(first + i / PAIRS, state.n_tokens - 1u) * params.y_stride;
        uint at = row + k_head * uint(DIM) + i % PAIRS * 2u;
        pairs[i] = vec4(y[at + to_keys], y[at + to_keys + 1u], y[at], y[at + 1u]);
    }
    for (uint i = lane; i < N_STAGED * COLUMNS; i += uint(WG_SIZE)) {
        uint row = min(first + i / COLUMNS, state.n_tokens - 1u) * params.y_stride;
        values[i] = y[row + (2u * params.n_k_head + head) * uint(DIM) + column + i % COLUMNS];
    }
    if (lane < N_STAGED) {
        uint tail = min(first + lane, state.n_tokens - 1u) * params.y_stride + n_channel;
        scalars[lane] = vec4(y[tail + 2u * head], y[tail + 2u * head + 1u],
                             y[tail + 2u * params.n_head + k_head], 0.0);
    }
}

void main()
{
    uint head = gl_WorkGroupID.y + first_group, column = gl_WorkGroupID.x * COLUMNS;
    uint lane = gl_LocalInvocationIndex, own = lane / N_SLICE, slice = lane % N_SLICE;
    uint matrix = params.matrix + head * uint(DIM * DIM) + 2u * slice * uint(DIM) + column + own;
    vec2 s[PAIRS_EACH];
    for (int p = 0; p < PAIRS_EACH; p++) {
        uint at = matrix + uint(p) * 2u * N_SLICE * uint(DIM);
        s[p] = state.n_past == 0u ? vec2(0.0) : vec2(memory[at], memory[at + uint(DIM)]);
    }
    for (uint first = 0u; first < state.n_tokens; first += N_STAGED) {
        group_barrier();
        stage(first, head, column);
        group_barrier();
        uint n = min(N_STAGED, state.n_tokens - first);
        for (uint m = 0u; m < n; m++) { // the same in all invocations
            vec2 k[PAIRS_EACH], by_k = vec2(0.0), by_q = vec2(0.0);
            for (int p = 0; p < PAIRS_EACH; p++) {
                vec4 pair = pairs[m * PAIRS + uint(p) * N_SLICE + slice];
                k[p] = pair.xy;
                by_k += s[p] * pair.xy;
                by_q += s[p] * pair.zw;
            }
            vec2 sum = sum_lanes(vec2(by_k.x + by_k.y, by_q.x + by_q.y), 1, 8);
            vec4 scalar = scalars[m];
            float change = scalar.y * (values[m * COLUMNS + own] - scalar.x * sum.x);
            for (int p = 0; p < PAIRS_EACH; p++) {
                s[p] = scalar.x * s[p] + k[p] * change;
            }
            if (slice == 0u) {
                result[(first + m) * params.o_stride + head * uint(DIM) + column + own] =
                    scalar.x * sum.y + scalar.z * change;
            }
        }
    }
    for (int p = 0; p < PAIRS_EACH; p++) {
        uint at = matrix + uint(p) * 2u * N_SLICE * uint(DIM);
        memory[at] = s[p].x;
        memory[at + uint(DIM)] = s[p].y;
    }
    if (gl_WorkGroupID.x == 0u) {
        keep_ring(head);
    }
}
