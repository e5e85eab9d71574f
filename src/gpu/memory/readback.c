#include "gpu/memory/readback.h"

#include "gpu/device/gpu_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool gi_readback_init(struct gi_readback *readback, struct gi_gpu *gpu, uint64_t capacity,
                      struct glinfer_error *err)
{
    assert(capacity > 0 && capacity % 4 == 0);
    *readback = (struct gi_readback){.capacity = capacity};
    readback->data = malloc(capacity);
    if (!readback->data) {
        return gi_error_no_memory(err, capacity, "results of the GPU");
    }
    readback->staging.size = capacity;
    glGenBuffers(1, &readback->staging.name);
    glBindBuffer(GL_COPY_WRITE_BUFFER, readback->staging.name);
    glBufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)capacity, NULL, GL_STREAM_READ);
    gi_gpu_label(gpu, GL_BUFFER_KHR, readback->staging.name, "readback");
    if (!gi_gpu_check(gpu, "allocating a readback buffer", err)) {
        gi_readback_finish(readback, gpu);
        return false;
    }
    return true;
}

void gi_readback_finish(struct gi_readback *readback, struct gi_gpu *gpu)
{
    gi_fence_finish(gpu, &readback->fence);
    glDeleteBuffers(1, &readback->staging.name);
    free(readback->data);
    *readback = (struct gi_readback){0};
}

void gi_readback_begin(struct gi_readback *readback)
{
    readback->size = 0;
}

void gi_readback_add(struct gi_readback *readback, struct gi_gpu *gpu,
                     const struct gi_buffer *source, uint64_t offset, uint64_t size)
{
    (void)gpu;
    assert(offset % 4 == 0 && size % 4 == 0);
    assert(offset <= source->size && size <= source->size - offset);
    assert(size <= readback->capacity - readback->size);
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    glBindBuffer(GL_COPY_READ_BUFFER, source->name);
    glBindBuffer(GL_COPY_WRITE_BUFFER, readback->staging.name);
    glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (GLintptr)offset,
                        (GLintptr)readback->size, (GLsizeiptr)size);
    readback->size += size;
}

bool gi_readback_end(struct gi_readback *readback, struct gi_gpu *gpu, struct glinfer_error *err)
{
    if (!gi_fence_insert(gpu, &readback->fence, err)) {
        return false;
    }
    gi_gpu_flush(gpu);
    return true;
}

static bool copy_out(struct gi_readback *readback, struct gi_gpu *gpu, struct glinfer_error *err)
{
    glBindBuffer(GL_COPY_READ_BUFFER, readback->staging.name);
    const void *source =
        glMapBufferRange(GL_COPY_READ_BUFFER, 0, (GLsizeiptr)readback->size, GL_MAP_READ_BIT);
    if (!source) {
        return gi_gpu_check(gpu, "reading results", err) &&
               gi_error_set(err, GLINFER_STATUS_DRIVER, "%s maps no readback buffer",
                            gi_gpu_platform(gpu)->renderer);
    }
    memcpy(readback->data, source, readback->size);
    glUnmapBuffer(GL_COPY_READ_BUFFER);
    return gi_gpu_check(gpu, "reading results", err);
}

const void *gi_readback_wait(struct gi_readback *readback, struct gi_gpu *gpu,
                             struct glinfer_error *err)
{
    if (!gi_fence_wait(gpu, &readback->fence, 0, err)) {
        return NULL;
    }
    gi_fence_finish(gpu, &readback->fence);
    if (readback->size > 0 && !copy_out(readback, gpu, err)) {
        return NULL;
    }
    return readback->data;
}
