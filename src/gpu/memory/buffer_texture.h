// Buffer textures over ranges that kernels read by texelFetch, each made once and kept until the
// set is finished. Needs EXT_texture_buffer. Internal to gpu/.
#pragma once

#include "gpu/device/gl_ext.h"
#include "gpu/dispatch/dispatch_table.h"

struct gi_buffer_texture {
    struct gi_range range;
    enum gi_texel texel;
    GLuint name;
};

struct gi_buffer_textures {
    struct gi_buffer_texture *items;
    uint32_t count;
    size_t capacity;
};

// Sets *name to the texture of a range and creates it on the first call. Fails with NO_MEMORY,
// DRIVER, GPU_LOST.
bool gi_buffer_textures_find(struct gi_buffer_textures *textures, struct gi_gpu *gpu,
                             const struct gi_range *range, enum gi_texel texel, GLuint *name,
                             struct glinfer_error *err);
void gi_buffer_textures_finish(struct gi_buffer_textures *textures);
