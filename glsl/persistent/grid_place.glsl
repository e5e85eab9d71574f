// The number of a group among those that stay: gl_WorkGroupID.x, or with GRID_HAS_PLACES, which needs gl_SMIDNV, the
// place that the host has given to its multiprocessor (src/gpu/device/multiprocessor.h). Where that is taken, by a group of the
// same multiprocessor say, it is the next one that is free: each place has a group, whatever the device does.
#ifndef GRID_HAS_PLACES
#define GRID_HAS_PLACES 0
#endif

#if GRID_HAS_PLACES
#define CONTROL_IS_PLACED 192u // 0: the host has not said anything, and is told where groups are
#define CONTROL_PLACES 256u    // by number of a multiprocessor; the number of groups: none
#define CONTROL_CLAIMS 512u    // by place: the last dispatch that has a group there. Told by group: its multiprocessor
#define N_MULTIPROCESSORS 256u

layout(location = 4) uniform uint dispatch_serial;

shared uint grid_place;
uint grid_own = 0u;

uint grid_claim_place()
{
    uint n = gl_NumWorkGroups.x, place = control[CONTROL_PLACES + gl_SMIDNV % N_MULTIPROCESSORS];
    for (uint i = 0u; i < n; i++) {
        place = place < n ? place : 0u;
        if (atomicExchange(control[CONTROL_CLAIMS + place], dispatch_serial) != dispatch_serial) {
            return place;
        }
        place++;
    }
    grid_fault = 1u; // there are as many places as groups
    control[CONTROL_FAULT] = 1u;
    return 0u;
}

// To be called by the first invocation.
void grid_find_place()
{
    if (control[CONTROL_IS_PLACED] != 0u) {
        grid_place = grid_claim_place();
    } else {
        grid_place = gl_WorkGroupID.x;
        control[CONTROL_CLAIMS + gl_WorkGroupID.x] = gl_SMIDNV;
    }
}

// To be called by all, a barrier later.
void grid_take_place()
{
    grid_own = grid_place;
}
#else
#define grid_own gl_WorkGroupID.x
#define grid_find_place()
#define grid_take_place()
#endif
