// Mamba-2 over a prompt's batch, token after token (ssm/ssm.glsl).
//
//   out     (n_tokens, out_stride)  (n_head, DIM) written
//   y       (n_tokens, y_stride)    what ssm_conv.comp leaves
//   x       (n_tokens, x_stride)    the projection: z, and the last rows of the channels, which become
//                                   the ring
//   state   ring written, matrix read and written
//
// Group (tile, head) owns COLUMNS columns of a head's matrix, which it has in registers: an invocation
// four columns of four rows. Tokens come by STAGED into shared memory. A token changes the matrix without
// what other slices read of it, so that these sums meet once for all staged tokens: two barriers for them.
// Heads may run in pieces. Bound by shared memory, and by latency where groups are few.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 3) restrict buffer Memory { vec4 memory[]; };

#include "params/ssm.glsl"

#if !defined(DIM) || !defined(STATE_DIM) || !defined(TAPS) || !defined(COLUMNS) || !defined(STAGED)
#error "DIM of a head and STATE_DIM, multiples of 16; TAPS: tokens that the convolution sees; COLUMNS of a group; STAGED tokens"
#endif

#define N_QUAD (COLUMNS / 4)
#define N_SLICE (WG_SIZE / N_QUAD)
#define STATE_QUADS (STATE_DIM / 4) // of rows: at most N_SLICE

shared vec4 b_rows[STAGED * STATE_QUADS], c_rows[STAGED * STATE_QUADS];
shared vec4 x_rows[STAGED * N_QUAD], scalars[STAGED];
shared vec4 sums[STAGED * WG_SIZE];

uint group_of(uint head)
{
    return head / (params.n_head / params.n_group);
}

// The first channel of b; that of c is n_group * STATE_DIM later.
uint first_b(uint head)
{
    return params.n_head * uint(DIM) + group_of(head) * uint(STATE_DIM);
}

uint n_channels()
{
    return params.n_head * uint(DIM) + 2u * params.n_group * uint(STATE_DIM);
}

// Stages tokens first ... first + STAGED - 1; past the last one that one again.
void stage(uint first, uint head, uint column)
{
    uint lane = gl_LocalInvocationIndex, last = state.n_tokens - 1u;
    for (uint i = lane; i < uint(STAGED * STATE_QUADS); i += uint(WG_SIZE)) {
        uint row = min(first + i / uint(STATE_QUADS), last) * params.y_stride;
        uint at = (row + first_b(head)) / 4u + i % uint(STATE_QUADS);
        b_rows[i] = y[at];
        c_rows[i] = y[at + params.n_group * uint(STATE_QUADS)];
    }
    if (lane < uint(STAGED * N_QUAD)) {
        uint row = min(first + lane / uint(N_QUAD), last) * params.y_stride;
        x_rows[lane] = y[(row + head * uint(DIM) + column) / 4u + lane % uint(N_QUAD)];
    }
    if (lane < uint(STAGED)) {
        scalars[lane] = y[(min(first + lane, last) * params.y_stride + n_channels()) / 4u + head];
    }
}

// Writes what the slices have of n tokens. Compilers do not know how many slices there are: unrolled,
// their loads take Mali-T's registers.
void write_rows(uint first, uint n, uint head, uint column)
{
    uint n_slice = n > 0u ? min(uint(N_SLICE), uint(STATE_QUADS)) : 0u;
    for (uint i = gl_LocalInvocationIndex; i < n * uint(N_QUAD); i += uint(WG_SIZE)) {
        uint staged = i / uint(N_QUAD), quad = i % uint(N_QUAD), m = first + staged;
        vec4 sum = vec4(0.0);
        for (uint slice = 0u; slice < n_slice; slice++) {
            sum += sums[staged * uint(WG_SIZE) + slice * uint(N_QUAD) + quad];
        }
        uint at = head * uint(DIM) + column + 4u * quad;
        vec4 z = x[(m * params.x_stride + at) / 4u];
        result[(m * params.out_stride + at) / 4u] = sum * (z / (1.0 + exp(-z)));
    }
}

void keep_channels(uint first_quad, uint n_quad)
{
    uint n_row = min(state.n_tokens, uint(TAPS - 1));
    for (uint i = gl_LocalInvocationIndex; i < n_row * n_quad; i += uint(WG_SIZE)) {
        uint m = state.n_tokens - n_row + i / n_quad, quad = first_quad + i % n_quad;
        memory[(state.n_past + m) % uint(TAPS) * n_channels() / 4u + quad] =
            x[(m * params.x_stride + params.channels) / 4u + quad];
    }
}

// Writes the ring: x of the group's columns, and b and c by the first of their groups.
void keep_ring(uint head, uint column)
{
    keep_channels((head * uint(DIM) + column) / 4u, uint(N_QUAD));
    if (column == 0u && head % (params.n_head / params.n_group) == 0u) {
        keep_channels(first_b(head) / 4u, uint(STATE_QUADS));
        keep_channels((first_b(head) + params.n_group * uint(STATE_DIM)) / 4u, uint(STATE_QUADS));
    }
}

void main()
{
    uint head = gl_WorkGroupID.y + first_group, column = gl_WorkGroupID.x * uint(COLUMNS);
    uint lane = gl_LocalInvocationIndex, quad = lane % uint(N_QUAD), slice = lane / uint(N_QUAD);
    // Slices past the last rows have none.
    bool is_there = slice < uint(STATE_QUADS);
    uint begin = (params.matrix + (head * uint(STATE_DIM) + 4u * slice) * uint(DIM) + column) / 4u + quad;
    vec4 s[4];
    for (int r = 0; r < 4; r++) {
        s[r] = is_there && state.n_past > 0u ? memory[begin + uint(r * (DIM / 4))] : vec4(0.0);
    }
    for (uint first = 0u; first < state.n_tokens; first += uint(STAGED)) {
        uint n = min(state.n_tokens - first, uint(STAGED));
        stage(first, head, column);
        group_barrier();
        for (uint staged = 0u; staged < n && is_there; staged++) {
            vec4 scalar = scalars[staged], own = x_rows[staged * uint(N_QUAD) + quad];
            vec4 sum = slice == 0u ? scalar.z * own : vec4(0.0);
            own *= scalar.y;
            uint row = staged * uint(STATE_QUADS) + slice;
            vec4 b = b_rows[row], c = c_rows[row];
            for (int r = 0; r < 4; r++) {
                s[r] = scalar.x * s[r] + b[r] * own;
                sum += c[r] * s[r];
            }
            sums[staged * uint(WG_SIZE) + lane] = sum;
        }
        group_barrier();
        write_rows(first, n, head, column);
    }
    for (int r = 0; r < 4 && is_there; r++) {
        memory[begin + uint(r * (DIM / 4))] = s[r];
    }
    keep_ring(head, column);
}
