#include "gpu/memory/buffer_texture.h"

#include "base/array.h"
#include "gpu/device/gpu_private.h"

#include <stdlib.h>

static bool is_same(const struct gi_buffer_texture *texture, const struct gi_range *range,
                    enum gi_texel texel)
{
    return texture->texel == texel && texture->range.buffer->name == range->buffer->name &&
           texture->range.offset == range->offset && texture->range.size == range->size;
}

static GLuint make_texture(const struct gi_gpu *gpu, const struct gi_range *range,
                           enum gi_texel texel)
{
    static const GLenum formats[] = {
        [GI_TEXEL_VEC4] = GL_RGBA32F, [GI_TEXEL_UVEC4] = GL_RGBA32UI, [GI_TEXEL_UINT] = GL_R32UI};
    GLuint name = 0;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_BUFFER_EXT, name);
    gpu->ext.tex_buffer_range(GL_TEXTURE_BUFFER_EXT, formats[texel], range->buffer->name,
                              (GLintptr)range->offset, (GLsizeiptr)range->size);
    glBindTexture(GL_TEXTURE_BUFFER_EXT, 0);
    return name;
}

bool gi_buffer_textures_find(struct gi_buffer_textures *textures, struct gi_gpu *gpu,
                             const struct gi_range *range, enum gi_texel texel, GLuint *name,
                             struct glinfer_error *err)
{
    for (uint32_t i = 0; i < textures->count; i++) {
        if (is_same(&textures->items[i], range, texel)) {
            *name = textures->items[i].name;
            return true;
        }
    }
    if (!gi_array_grow(&textures->items, &textures->capacity, textures->count + 1,
                       sizeof(*textures->items), "buffer textures", err)) {
        return false;
    }
    *name = make_texture(gpu, range, texel);
    if (!gi_gpu_check(gpu, "making a buffer texture", err)) {
        glDeleteTextures(1, name);
        return false;
    }
    textures->items[textures->count++] = (struct gi_buffer_texture){*range, texel, *name};
    return true;
}

void gi_buffer_textures_finish(struct gi_buffer_textures *textures)
{
    for (uint32_t i = 0; i < textures->count; i++) {
        glDeleteTextures(1, &textures->items[i].name);
    }
    free(textures->items);
    *textures = (struct gi_buffer_textures){0};
}
