// Edges between the stages of a program that computes whole steps itself: what a stage left is
// there for the next one, in whatever group. OpenGL ES does not promise that groups run at the same
// time, so every wait is bounded: a group that has polled spin_limit times stores a fault, which ends
// the waits of all others. Data that groups pass to others must be in coherent buffers.
//
// A barrier has two halves: grid_arrive() counts a group in, and grid_wait() asks until all have
// come. What is done between them costs no time.
//
// An edge whose values are published and consumed (grid_release, grid_acquire) needs none: a value
// has a tag in the lowest bits of its mantissa, another than the value that was in its place
// before. That saves the fence, the way of an atomic, and one to memory and back. In the first step
// of a dispatch, when what is in memory may have any tag, such an edge is a barrier, unless the
// dispatch goes on where the last one stopped.
//
// An entry may work beside the next one (grid_leave, grid_join).
#define CONTROL_ARRIVED 0u // groups, over all barriers since the buffer was zeroed
#define CONTROL_BEGIN 64u  // of that at the end of the last dispatch
#define CONTROL_TURN 65u   // edges by then, but for a multiple of GRID_N_TAG: they are never too many to count
#define CONTROL_FAULT 128u // 1: somebody waited in vain; stays

#define TAG_BITS 7u
#ifndef GRID_N_TAG
#define GRID_N_TAG 8u // kinds of tags
#endif

layout(std430, binding = 0) coherent volatile buffer Control { uint control[]; };

layout(location = 1) uniform uint spin_limit;
layout(location = 3) uniform uint goes_on; // 1: what was published is as the last dispatch left it

shared uint grid_begin, grid_past, grid_fault;
uint grid_goal; // arrivals at the next barrier

uint grid_turn = 0u;          // edges so far, the same in all groups
uint grid_tag = 0u;           // of what is published now
uint grid_expected = 0u;      // of what is consumed now
uint grid_care = 0u;          // TAG_BITS, or 0 after a barrier: all is there, tagged or not
uint grid_beside = 0u;        // the same of what the entry beside publishes, which has grid_tag
// All that will be consumed has tags: from the second step of a dispatch on, or the first of one that
// goes on.
bool grid_is_settled = false;

float grid_publish(float value)
{
    return uintBitsToFloat((floatBitsToUint(value) & ~TAG_BITS) | grid_tag);
}

// 0 if a value has a tag.
uint grid_wrong(uint tag, vec4 value, uvec4 care)
{
    uvec4 wrong = (floatBitsToUint(value) ^ tag) & care;
    return (wrong.x | wrong.y) | (wrong.z | wrong.w);
}

// Reloads values until none is missing; in vain it becomes a fault. What is looked for at the same
// time is to be reloaded together: one after another each costs a way to memory and back.
#define GRID_CONSUME_WHILE(is_missing, reload)                                                        \
    for (uint n_spin = 0u; is_missing; n_spin++) {                                                 \
        if (n_spin >= spin_limit || grid_fault != 0u) {                                            \
            grid_fault = 1u;                                                                       \
            control[CONTROL_FAULT] = 1u;                                                           \
            break;                                                                                 \
        }                                                                                          \
        reload                                                                                     \
    }

// Loads a value that was loaded once again until it has the tag; of its components those count
// whose care is not 0.
#define GRID_CONSUME(value, load, care)                                                            \
    GRID_CONSUME_WHILE(grid_wrong(grid_expected, value, care) != 0u, value = load;)

void grid_turn_over(uint care)
{
    grid_expected = grid_tag;
    grid_care = care;
    grid_beside = 0u;
    grid_turn++;
    grid_tag = grid_turn % GRID_N_TAG;
}

// To be called first. False if an earlier dispatch has left a fault.
bool grid_start()
{
    if (gl_LocalInvocationIndex == 0u) {
        grid_begin = control[CONTROL_BEGIN];
        grid_past = control[CONTROL_TURN];
        grid_fault = control[CONTROL_FAULT];
    }
    barrier();
    grid_goal = grid_begin;
    grid_turn = grid_past;
    grid_tag = grid_turn % GRID_N_TAG;
    grid_is_settled = goes_on != 0u;
    bool is_sound = grid_fault == 0u;
    barrier();
    return is_sound;
}

void grid_count_in()
{
    grid_goal += gl_NumWorkGroups.x;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        memoryBarrierBuffer();
        atomicAdd(control[CONTROL_ARRIVED], 1u);
    }
}

// All of the group has done its part. What is done between this and grid_wait nobody waits for.
void grid_arrive()
{
    grid_turn_over(0u);
    grid_count_in();
}

// False, in all invocations of the group alike, if groups are missing: the group must leave.
bool grid_wait()
{
    if (gl_LocalInvocationIndex == 0u) {
        uint n_spin = 0u;
        while (int(control[CONTROL_ARRIVED] - grid_goal) < 0 && n_spin < spin_limit) {
            n_spin++;
        }
        if (n_spin >= spin_limit) {
            grid_fault = 1u;
            control[CONTROL_FAULT] = 1u;
        }
    }
    barrier();
    return grid_fault == 0u;
}

bool grid_barrier()
{
    grid_arrive();
    return grid_wait();
}

// The two halves of an edge whose values are published and consumed.
void grid_release()
{
    if (grid_is_settled) {
        grid_turn_over(TAG_BITS);
    } else {
        grid_arrive();
    }
}

bool grid_acquire()
{
    if (grid_is_settled) {
        barrier(); // shared memory is the next stage's from here on
        return true;
    }
    return grid_wait();
}

// The two halves of the way from an entry to the one that it works beside: both read what the same
// edge brought, and the second consumes what the first publishes by the current tag, which its own
// results have, too. Once tags are settled there is no edge; before, there is a barrier.
void grid_leave()
{
    if (!grid_is_settled) {
        grid_count_in();
    }
}

bool grid_join()
{
    if (grid_is_settled) {
        grid_beside = TAG_BITS;
        barrier(); // shared memory is the next stage's from here on
        return true;
    }
    return grid_wait();
}

// To be called last, if all was sound.
void grid_end()
{
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u) {
        control[CONTROL_BEGIN] = grid_goal;
        control[CONTROL_TURN] = grid_tag;
    }
}
