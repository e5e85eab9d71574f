// The main of a program whose dispatches are counted. It calls the kernel's main, which the assembler
// renames. The last group of a dispatch adds 1 at its end, so that the host notices a dispatch that
// did not run to its end (gpu/dispatch/run_count.h). With COUNT_GROUPS it adds another 1 if the
// groups along the three axes are odd together, so that a grid with one group less shows.
// A kernel that is short of registers defines COUNT_EARLY. It decides first whether its group is the
// last, which takes one register until the end; the position of the group would take four.
#undef main

#define IS_LAST (gl_LocalInvocationIndex == 0u && gl_WorkGroupID == gl_NumWorkGroups - 1u)

layout(binding = 0, offset = 0) uniform highp atomic_uint run_count;

void count_run()
{
    atomicCounterIncrement(run_count);
#if COUNT_GROUPS
    if (((gl_NumWorkGroups.x + gl_NumWorkGroups.y + gl_NumWorkGroups.z) & 1u) != 0u) {
        atomicCounterIncrement(run_count);
    }
#endif
}

#ifdef COUNT_EARLY
void main()
{
    bool is_last = IS_LAST;
    kernel_main();
    if (is_last) {
        count_run();
    }
}
#else
void main()
{
    kernel_main();
    if (IS_LAST) {
        count_run();
    }
}
#endif
