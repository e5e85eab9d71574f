// The end of a step. A kernel that includes this file declares the ring (binding 0), step_state
// (binding 2) and, with HAS_COUNTS, the grids of an indirect table (binding 3).
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#define STEP_STATE_WRITTEN
#include "lib/step_state.glsl"
#include "sample/stop_id.glsl"
#include "sample/ring.glsl"

#define MAX_GRIDS 32u
#define STATUS_OK 1u
#define STATUS_NAN 2u
#define GRID_KEYS 1u
#define GRID_TOKENS 2u

#if HAS_COUNTS
struct Grid {
    uint count_x, count_y, count_z, rule;
    uint size_x, size_y, size_z, axis_divisor;
};
layout(std430, binding = 3) restrict buffer Counts { Grid grids[]; };

// The counts of the next step, one token after n_past; zero if there is none.
void write_counts(uint index, uint n_past, bool is_done)
{
    Grid grid = grids[index];
    uvec3 count = uvec3(grid.size_x, grid.size_y, grid.size_z);
    if (grid.rule == GRID_KEYS || grid.rule == GRID_TOKENS) {
        uint divisor = max(grid.axis_divisor & 0x3FFFFFFFu, 1u);
        uint n = grid.rule == GRID_KEYS ? n_past + 1u : 1u;
        uint axis = grid.axis_divisor >> 30u;
        uint groups = (n - 1u) / divisor + 1u;
        uint most = axis == 0u ? count.x : axis == 1u ? count.y : count.z;
        groups = grid.rule == GRID_KEYS && most > 0u ? min(groups, most) : groups;
        count = uvec3(axis == 0u ? groups : count.x, axis == 1u ? groups : count.y,
                      axis == 2u ? groups : count.z);
    }
    count = is_done ? uvec3(0u) : count;
    grids[index].count_x = count.x;
    grids[index].count_y = count.y;
    grids[index].count_z = count.z;
}
#endif

// Writes the token into the ring, its status last, and makes step_state that of the next step. To
// be called by all invocations, after any of them wrote log-probabilities.
void step_advance(uint token, uint status)
{
    // All of it is asked for at once: where step_state is storage each look is a way to memory and back.
    uint step = state.step, max_steps = state.max_steps, epoch = state.epoch;
    uint n_past = state.n_past + state.n_tokens, done = state.done, ban_stop = state.ban_stop;
    bool is_stop = is_stop_id(token);
    bool is_done = done != 0u || status != STATUS_OK || step + 1u >= max_steps ||
                   (ban_stop == 0u && is_stop);
    memoryBarrierBuffer();
    barrier();
#if HAS_COUNTS
    for (uint i = gl_LocalInvocationIndex; i < MAX_GRIDS; i += uint(WG_SIZE)) {
        write_counts(i, n_past, is_done);
    }
#endif
    if (gl_LocalInvocationIndex != 0u) {
        return;
    }
    uint slot = step % RING_SLOTS;
    ring[slot].token = token;
    ring[slot].step = step;
    ring[slot].epoch = epoch;
    memoryBarrierBuffer();
    ring[slot].status = status;
    state.token = token;
    state.n_past = n_past;
    state.n_tokens = 1u;
    state.step = step + 1u;
    state.done = is_done ? 1u : 0u;
}
