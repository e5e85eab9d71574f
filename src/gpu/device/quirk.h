// What is known of drivers by name: how kernels are shaped for a GPU and whether its command
// processor reads the counts of an indirect dispatch. Data, not code: one row a renderer pattern.
#ifndef GI_GPU_QUIRK_H
#define GI_GPU_QUIRK_H

#include "gpu/device/gpu.h"

enum gi_quirk_indirect {
    GI_QUIRK_INDIRECT_UNKNOWN,
    GI_QUIRK_INDIRECT_NO,  // the driver maps the counts on the CPU and stalls, or goes wrong
    GI_QUIRK_INDIRECT_YES, // the GPU reads them
};

struct gi_quirk {
    const char *renderer; // part of GL_RENDERER, letter case aside
    const char *version;  // part of GL_VERSION; NULL: any
    enum gi_gpu_class class;
    enum gi_quirk_indirect indirect;
    enum gi_gpu_dot dot;
};

// Whether the driver maps buffers in such small pages that it is worth asking for others
// (large_pages.h). NVIDIA's own alone is known to.
bool gi_quirk_has_small_pages(const char *renderer, const char *version);

// Returns the first row that fits; never NULL, the last row fits everything.
const struct gi_quirk *gi_quirk_find(const char *renderer, const char *version);

// Invocations of a subgroup, if a compute shader's neighbouring invocations always share one; else 0.
// What GL says is the largest size: compilers for Intel and AMD choose smaller ones.
uint32_t gi_quirk_subgroup_size(const char *renderer, const char *version);

#endif
