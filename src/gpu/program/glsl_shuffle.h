// Subgroups of 32 invocations that are made up of shared memory, for tests of kernels with
// subgroups on drivers that have none (GI_QUIRK_SHARED_SHUFFLES). Internal to gpu/.
#pragma once

// Defines subgroupShuffleXor on one line, between the defines and the kernel. Each call has two
// barriers, so all invocations of a workgroup must make it.
extern const char gi_glsl_shuffle_head[];
