// The step_state of a group. With ROWS 0 there is one. With ROWS n the dispatch serves the n slots of
// a joint step (src/README.md), each with a step_state of its own, and the group works for SLOT:
// the third coordinate of its place in the grid unless the kernel says another before. The list's
// own step_state follows theirs; bit i of its token is set if slot i takes part.
#ifndef ROWS
#define ROWS 0
#endif
#ifndef SLOT
#define SLOT gl_WorkGroupID.z
#endif
#if ROWS
#define STATE_ROWS
#define CACHE_BEGIN (SLOT * params.slot_cache) // start of the slot's cache, and of its scratch:
#define SCRATCH_BEGIN (SLOT * params.slot_scratch) // Params give the distance of slots
#else
#define CACHE_BEGIN 0u
#define SCRATCH_BEGIN 0u
#endif
#include "lib/step_state.glsl"

// The states, declared by a macro: what reads declarations for other executors knows no conditions. A
// program with several stages has declared them.
#if !ROWS || defined(STAGE)
#define STATES
#elif defined(STEP_STATE_WRITTEN)
#define STATES layout(std430, binding = 2) restrict buffer States { StepState states[]; };
#else
#define STATES layout(std140, binding = 1) uniform States { StepState states[ROWS + 1]; };
#endif
#if ROWS
#define state states[SLOT]
#endif

STATES

// Returns true if the slot takes part in the step.
bool is_live()
{
#if ROWS
    return (states[ROWS].token >> SLOT & 1u) != 0u;
#else
    return true;
#endif
}

// Returns true if nothing is to be computed for the slot: it takes no part, or is done.
bool is_idle()
{
#if ROWS
    return !is_live() || state.done != 0u;
#else
    return false;
#endif
}

// Row m is of a batch's token m, in a joint step of slot m's only token.
bool is_row_used(uint m)
{
#if ROWS
    return !is_idle();
#else
    return m < state.n_tokens;
#endif
}

uint row_position(uint m)
{
#if ROWS
    return state.n_past;
#else
    return state.n_past + m;
#endif
}
