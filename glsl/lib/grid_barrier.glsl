// A barrier between all groups of a dispatch, for programs that compute a whole step themselves. OpenGL
// ES does not promise that groups run at the same time, so nobody waits for ever: a group that has asked
// spin_limit times in vain leaves a fault behind, and the same happens to all that wait with it.
//
// One invocation of a group counts it in and asks until all have come. What groups leave for others must
// be in coherent buffers. On an H200 with 132 groups a barrier takes 1.3 us.
#define CONTROL_ARRIVED 0u // groups, over all barriers since the buffer was zeroed
#define CONTROL_BEGIN 64u  // of that at the end of the last dispatch
#define CONTROL_FAULT 128u // 1: a barrier was not reached by all; stays

layout(std430, binding = 0) coherent volatile buffer Control { uint control[]; };

layout(location = 1) uniform uint spin_limit;

shared uint grid_begin, grid_fault;
uint grid_goal; // arrivals at the next barrier

// To be called first. False if an earlier dispatch has left a fault.
bool grid_start()
{
    if (gl_LocalInvocationIndex == 0u) {
        grid_begin = control[CONTROL_BEGIN];
        grid_fault = control[CONTROL_FAULT];
    }
    barrier();
    grid_goal = grid_begin;
    bool is_sound = grid_fault == 0u;
    barrier();
    return is_sound;
}

// False, in all invocations of the group alike, if groups are missing: the group must leave.
bool grid_barrier()
{
    grid_goal += gl_NumWorkGroups.x;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        memoryBarrierBuffer();
        atomicAdd(control[CONTROL_ARRIVED], 1u);
        uint n_spin = 0u;
        while (int(control[CONTROL_ARRIVED] - grid_goal) < 0 && n_spin < spin_limit) {
            n_spin++;
        }
        grid_fault = n_spin >= spin_limit ? 1u : 0u;
        if (grid_fault != 0u) {
            control[CONTROL_FAULT] = 1u;
        }
    }
    barrier();
    return grid_fault == 0u;
}

// To be called last, if all was sound.
void grid_end()
{
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u) {
        control[CONTROL_BEGIN] = grid_goal;
    }
}
