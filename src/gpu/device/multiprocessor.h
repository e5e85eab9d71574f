// Which multiprocessors the groups of a persistent dispatch run on.
//
// A device begins to place the groups of a dispatch in another of its parts now and then: each dispatch of another size
// moves the beginning on. The same groups in other places hand their results on by other ways:
// on an H200 a step of Qwen3-0.6B's shape takes 359 to 388 us, the same to 0.1 % as long as the places are. Where a group
// can ask for the number of its multiprocessor, the host therefore says which group is to be where, after it has tried
// several ways (gi_persistent_place). Which of them is fast is not known without: it differs from device to device, and
// follows neither from the parts that it consists of nor from what lies side by side.
#ifndef GI_GPU_MULTIPROCESSOR_H
#define GI_GPU_MULTIPROCESSOR_H

#include "gpu/device/gpu.h"

#define GI_MULTIPROCESSORS     256 // numbers that are told apart, and groups
#define GI_MULTIPROCESSOR_WAYS 32

// Whether kernels may ask for the number: gl_SMIDNV of NV_shader_thread_group, which NVIDIA's driver has in OpenGL ES,
// too, but does not list there. Compiles a small shader, once. False where another driver might complain of it, and for a
// device that is held to the floor of OpenGL ES 3.1.
bool gi_multiprocessor_probe(struct gi_gpu *gpu);

// Whether n groups ran on as many multiprocessors, whose numbers are `seen`, and all numbers are told apart.
bool gi_multiprocessor_is_order(const uint32_t *seen, uint32_t n);
// Sets, by number of a multiprocessor, which of n groups is to run there. `seen`: the multiprocessors by group. Each of
// GI_MULTIPROCESSOR_WAYS moves them on by a part of n of its own, every other one with the eighths of them in another
// order; ways that follow each other differ much. Numbers that nobody has seen get n.
void gi_multiprocessor_place(const uint32_t *seen, uint32_t n, uint32_t way,
                             uint32_t places[GI_MULTIPROCESSORS]);

#endif
