#include "gpu/memory/buffer.h"

#include "gpu/device/gpu_private.h"
#include "gpu/memory/large_pages.h"

#include <assert.h>
#include <string.h>

//-- staging ---------------------------------------------------------------------------------------

bool gi_staging_init(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_staging *staging = &gpu->staging;
    glGenBuffers(GI_STAGING_SLOTS, staging->buffers);
    for (int i = 0; i < GI_STAGING_SLOTS; i++) {
        glBindBuffer(GL_COPY_READ_BUFFER, staging->buffers[i]);
        glBufferData(GL_COPY_READ_BUFFER, GI_STAGING_SIZE, NULL, GL_STREAM_DRAW);
        gi_gpu_label(gpu, GL_BUFFER_KHR, staging->buffers[i], "staging");
    }
    return gi_gpu_check(gpu, "allocating staging buffers", err);
}

void gi_staging_finish(struct gi_gpu *gpu)
{
    for (int i = 0; i < GI_STAGING_SLOTS; i++) {
        gi_fence_finish(gpu, &gpu->staging.fences[i]);
    }
    glDeleteBuffers(GI_STAGING_SLOTS, gpu->staging.buffers);
    gpu->staging = (struct gi_staging){0};
}

// Goes on to the next slot and waits until the GPU has copied out of it.
static bool turn_staging(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_staging *staging = &gpu->staging;
    if (!gi_fence_insert(gpu, &staging->fences[staging->slot], err)) {
        return false;
    }
    staging->slot = (staging->slot + 1) % GI_STAGING_SLOTS;
    staging->used = 0;
    return gi_fence_wait(gpu, &staging->fences[staging->slot], 0, err);
}

// Writes size bytes of data (NULL: zeros) into the bound staging buffer. What is mapped is not in
// use, so nothing is synchronised. Tries again if glUnmapBuffer says that the contents were lost.
static bool map_and_copy(struct gi_gpu *gpu, uint32_t offset, const void *data, uint32_t size,
                         struct glinfer_error *err)
{
    const GLbitfield access =
        GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT | GL_MAP_UNSYNCHRONIZED_BIT;
    for (int attempt = 0; attempt < 3; attempt++) {
        void *target = glMapBufferRange(GL_COPY_READ_BUFFER, offset, size, access);
        if (!target) {
            break;
        }
        if (data) {
            memcpy(target, data, size);
        } else {
            memset(target, 0, size);
        }
        if (glUnmapBuffer(GL_COPY_READ_BUFFER)) {
            return true;
        }
    }
    return gi_gpu_check(gpu, "mapping a staging buffer", err) &&
           gi_error_set(err, GLINFER_STATUS_DRIVER, "%s maps no staging buffer",
                        gi_gpu_platform(gpu)->renderer);
}

// Puts as much of data as fits into the current slot, leaves it bound for reading and returns how
// many bytes it took; 0 on failure.
static uint32_t fill_staging(struct gi_gpu *gpu, const void *data, uint64_t size, uint32_t *offset,
                             struct glinfer_error *err)
{
    struct gi_staging *staging = &gpu->staging;
    if (staging->used == GI_STAGING_SIZE && !turn_staging(gpu, err)) {
        return 0;
    }
    uint32_t room = GI_STAGING_SIZE - staging->used;
    uint32_t taken = size < room ? (uint32_t)size : room;
    glBindBuffer(GL_COPY_READ_BUFFER, staging->buffers[staging->slot]);
    if (!map_and_copy(gpu, staging->used, data, taken, err)) {
        return 0;
    }
    *offset = staging->used;
    staging->used += taken;
    return taken;
}

//-- buffers ---------------------------------------------------------------------------------------

static bool allocate_storage(struct gi_gpu *gpu, GLuint name, uint64_t size, const char *label,
                             struct glinfer_error *err)
{
    gi_gpu_clear_errors(gpu);
    if (gpu->is_lost) {
        return gi_gpu_check(gpu, "allocating a buffer", err);
    }
    glBindBuffer(GL_COPY_WRITE_BUFFER, name);
    if (gpu->ext.buffer_storage) {
        gpu->ext.buffer_storage(GL_COPY_WRITE_BUFFER, (GLsizeiptr)size, NULL, 0);
    } else {
        glBufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)size, NULL, GL_STATIC_DRAW);
    }
    GLenum error = glGetError();
    if (error == GL_OUT_OF_MEMORY) {
        return gi_error_set(err, GLINFER_STATUS_NO_MEMORY,
                            "the GPU has no %llu bytes for the buffer %s", (unsigned long long)size,
                            label);
    }
    if (error != GL_NO_ERROR) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER,
                            "GL error 0x%04x while allocating %llu bytes for the buffer %s", error,
                            (unsigned long long)size, label);
    }
    return gi_gpu_check(gpu, "allocating a buffer", err);
}

// Clears a buffer: copies one slot of zeros again and again.
static bool fill_zero(struct gi_gpu *gpu, const struct gi_buffer *buffer, struct glinfer_error *err)
{
    uint32_t source;
    uint32_t chunk = fill_staging(gpu, NULL, buffer->size, &source, err);
    if (chunk == 0) {
        return false;
    }
    const GLuint staging = gpu->staging.buffers[gpu->staging.slot];
    for (uint64_t offset = 0; offset < buffer->size; offset += chunk) {
        const uint64_t left = buffer->size - offset, size = left < chunk ? left : chunk;
        glBindBuffer(GL_COPY_READ_BUFFER, staging);
        glBindBuffer(GL_COPY_WRITE_BUFFER, buffer->name);
        glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, source, (GLintptr)offset,
                            (GLsizeiptr)size);
        if (!gi_copy_log_add(gpu, buffer->name, offset, NULL, size, err)) {
            return false;
        }
    }
    return gi_gpu_check(gpu, "clearing a buffer", err);
}

bool gi_buffer_init(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size, const char *label,
                    struct glinfer_error *err)
{
    return gi_buffer_init_paged(buffer, gpu, size, 0, label, err);
}

bool gi_buffer_init_paged(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
                          uint64_t together, const char *label, struct glinfer_error *err)
{
    *buffer = (struct gi_buffer){0};
    if (size == 0 || size > GI_MAX_BUFFER_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the buffer %s has %llu bytes; 1 to %llu can be", label,
                            (unsigned long long)size, (unsigned long long)GI_MAX_BUFFER_SIZE);
    }
    buffer->size = (size + 15) & ~UINT64_C(15);
    glGenBuffers(1, &buffer->name);
    if (!(together >= gpu->pages.from && gi_large_pages_allocate(gpu, buffer)) &&
        !allocate_storage(gpu, buffer->name, buffer->size, label, err)) {
        goto fail;
    }
    gi_gpu_label(gpu, GL_BUFFER_KHR, buffer->name, label);
    if (!fill_zero(gpu, buffer, err)) {
        goto fail;
    }
    return true;
fail:
    gi_buffer_finish(buffer, gpu);
    return false;
}

void gi_buffer_finish(struct gi_buffer *buffer, struct gi_gpu *gpu)
{
    glDeleteBuffers(1, &buffer->name);
    if (buffer->memory) {
        gpu->ext.delete_memory_objects(1, &buffer->memory);
    }
    *buffer = (struct gi_buffer){0};
}

bool gi_buffer_write(const struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t offset,
                     const void *data, uint64_t size, struct glinfer_error *err)
{
    assert(offset % 4 == 0 && size % 4 == 0);
    assert(offset <= buffer->size && size <= buffer->size - offset);
    const char *bytes = data;
    // Orders the copy after the writes of shaders; GL itself orders their later reads.
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    while (size > 0) {
        uint32_t source;
        uint32_t taken = fill_staging(gpu, bytes, size, &source, err);
        if (taken == 0) {
            return false;
        }
        glBindBuffer(GL_COPY_WRITE_BUFFER, buffer->name);
        glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, source, (GLintptr)offset,
                            taken);
        if (!gi_copy_log_add(gpu, buffer->name, offset, bytes, taken, err)) {
            return false;
        }
        bytes += taken;
        offset += taken;
        size -= taken;
    }
    return gi_gpu_check(gpu, "writing a buffer", err);
}

void gi_buffer_copy(const struct gi_buffer *to, struct gi_gpu *gpu, uint64_t to_offset,
                    const struct gi_buffer *from, uint64_t from_offset, uint64_t size)
{
    assert(to_offset <= to->size && size <= to->size - to_offset);
    assert(from_offset <= from->size && size <= from->size - from_offset);
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    glBindBuffer(GL_COPY_READ_BUFFER, from->name);
    glBindBuffer(GL_COPY_WRITE_BUFFER, to->name);
    glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (GLintptr)from_offset,
                        (GLintptr)to_offset, (GLsizeiptr)size);
    gi_copy_log_add_pair(gpu, from->name, from_offset, to->name, to_offset, size);
}

bool gi_buffer_read(const struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t offset, void *data,
                    uint64_t size, struct glinfer_error *err)
{
    struct gi_readback readback;
    const uint64_t chunk = size < GI_STAGING_SIZE ? size : GI_STAGING_SIZE;
    char *bytes = data;
    if (size == 0) {
        return true;
    }
    if (!gi_readback_init(&readback, gpu, chunk, err)) {
        return false;
    }
    bool is_read = true;
    for (uint64_t done = 0; is_read && done < size; done += chunk) {
        uint64_t part = size - done < chunk ? size - done : chunk;
        gi_readback_begin(&readback);
        gi_readback_add_checked(&readback, gpu, buffer, offset + done, part);
        const void *found =
            gi_readback_end(&readback, gpu, err) ? gi_readback_wait(&readback, gpu, err) : NULL;
        is_read = found != NULL;
        if (found) {
            memcpy(bytes + done, found, part);
        }
    }
    gi_readback_finish(&readback, gpu);
    return is_read;
}
