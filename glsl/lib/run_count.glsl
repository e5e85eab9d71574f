// The main of a program whose dispatches are counted, behind that of its kernel, which the assembler
// renames: the last group of a dispatch adds 1 at its end, so that the host notices a dispatch that
// never ran, or broke off (gpu/dispatch/run_count.h).
#undef main

layout(binding = 0, offset = 0) uniform highp atomic_uint run_count;

void main()
{
    kernel_main();
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID == gl_NumWorkGroups - 1u) {
        atomicCounterIncrement(run_count);
    }
}
