// Shows stages of a persistent program the walk over its table (persistent/grid_walk.glsl).
// GROUP_SIZE is the size of every group.
#include "lib/common.glsl"
#define STAGE
// Compilers order shared memory at barrier() alone, as desktop GLSL specifies. NVIDIA's makes a
// fence of memoryBarrierShared() besides.
#define memoryBarrierShared()
#include "persistent/grid_barrier.glsl"
#define STEP_STATE_COHERENT
#include "lib/step_state.glsl"

layout(local_size_x = GROUP_SIZE) in;

// step_state as it is until the next one is chosen.
struct StepNow {
    uint token, n_past, n_tokens;
};
StepNow step_now = StepNow(0u, 0u, 0u);

// The states of a joint list's slots, then its own (lib/slot.glsl): a list that chooses no tokens
// writes none of them. most_past is the largest n_past of any slot.
#if GRID_STATES
struct SlotState {
    uint token, n_past, n_tokens, done;
    uvec4 rest[15];
};
layout(std140, binding = 1) uniform States { SlotState states[GRID_STATES]; };
layout(location = 4) uniform uint most_past;
#define KEYS_NOW (most_past + 1u)
#else
#define KEYS_NOW (step_now.n_past + step_now.n_tokens)
#endif

// The values of the entry that runs.
uint entry_params = 0u;
uvec4 entry_begin = uvec4(0u), entry_buffer = uvec4(0u); // of bindings 0 to 3
uvec2 entry_fifth = uvec2(0u); // begin and buffer of binding 4

// The groups of a dispatch that a group of ours computes one after another, instead of
// gl_WorkGroupID, gl_NumWorkGroups and gl_GlobalInvocationID.
uvec3 stage_group = uvec3(0u), stage_n_groups = uvec3(1u);
#define stage_invocation (stage_group * gl_WorkGroupSize + gl_LocalInvocationID)

void place_group(uint i)
{
    stage_group = uvec3(i % stage_n_groups.x, i / stage_n_groups.x % stage_n_groups.y,
                        i / (stage_n_groups.x * stage_n_groups.y));
}

// Returns true if no group computes more than one of the stage's.
bool stage_is_whole()
{
    return stage_n_groups.x * stage_n_groups.y * stage_n_groups.z <= gl_NumWorkGroups.x;
}

// prefetch() is what the stage does for its next group while others work for it, run() the rest.
#define STAGE_GROUPS(run, prefetch)                                                                  \
    uint n = stage_n_groups.x * stage_n_groups.y * stage_n_groups.z;                                 \
    for (uint i = gl_WorkGroupID.x; i < n;) {                                                        \
        place_group(i);                                                                              \
        run;                                                                                         \
        i += gl_NumWorkGroups.x;                                                                     \
        if (i < n) {                                                                                 \
            barrier();                                                                               \
            place_group(i);                                                                          \
            prefetch;                                                                                \
        }                                                                                            \
    }

// The same of an entry that works beside the next one: it has few groups, and takes those that are
// least likely to have work in others. Groups without work prefetch nothing.
#define STAGE_GROUPS_BESIDE(run, prefetch)                                                           \
    uint n = stage_n_groups.x * stage_n_groups.y * stage_n_groups.z;                                 \
    for (uint i = gl_NumWorkGroups.x - 1u - gl_WorkGroupID.x; i < n; i += gl_NumWorkGroups.x) {      \
        place_group(i);                                                                              \
        prefetch;                                                                                    \
        run;                                                                                         \
        barrier();                                                                                   \
    }

#define ENTRY_QUADS 3u
#define ENTRY_BARRIER 0x100u

void open_entry(uint entry)
{
    entry_params = table[entry * ENTRY_QUADS].y;
    entry_fifth = table[entry * ENTRY_QUADS].zw;
    entry_begin = table[entry * ENTRY_QUADS + 1u];
    entry_buffer = table[entry * ENTRY_QUADS + 2u];
}
