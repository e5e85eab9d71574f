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
    readback->samples.expected = malloc(GI_COPY_LOG_SIZE);
    if (!readback->data || !readback->samples.expected) {
        gi_readback_finish(readback, gpu);
        return gi_error_no_memory(err, capacity, "results of the GPU");
    }
    readback->staging.size = capacity + GI_COPY_LOG_SIZE;
    glGenBuffers(1, &readback->staging.name);
    glBindBuffer(GL_COPY_WRITE_BUFFER, readback->staging.name);
    glBufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)readback->staging.size, NULL, GL_STREAM_READ);
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
    free(readback->samples.expected);
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

void gi_readback_add_checked(struct gi_readback *readback, struct gi_gpu *gpu,
                             const struct gi_buffer *source, uint64_t offset, uint64_t size)
{
    const uint64_t at = readback->size;
    gi_readback_add(readback, gpu, source, offset, size);
    gi_copy_log_add_pair(gpu, source->name, offset, readback->staging.name, at, size);
}

bool gi_readback_end(struct gi_readback *readback, struct gi_gpu *gpu, struct glinfer_error *err)
{
    gi_copy_log_take(gpu, readback->staging.name, readback->capacity, &readback->samples);
    if (!gi_fence_insert(gpu, &readback->fence, err)) {
        return false;
    }
    gi_gpu_flush(gpu);
    return true;
}

static bool copy_out(struct gi_readback *readback, struct gi_gpu *gpu, struct glinfer_error *err)
{
    glBindBuffer(GL_COPY_READ_BUFFER, readback->staging.name);
    const uint32_t n_log = readback->samples.used;
    const uint64_t end = n_log > 0 ? readback->capacity + n_log : readback->size;
    const uint8_t *source =
        glMapBufferRange(GL_COPY_READ_BUFFER, 0, (GLsizeiptr)end, GL_MAP_READ_BIT);
    if (!source) {
        return gi_gpu_check(gpu, "reading results", err) &&
               gi_error_set(err, GLINFER_STATUS_DRIVER, "%s maps no readback buffer",
                            gi_gpu_platform(gpu)->renderer);
    }
    memcpy(readback->data, source, readback->size);
    const bool is_whole = gi_copy_samples_check(gpu, &readback->samples,
                                                source + (n_log > 0 ? readback->capacity : 0), err);
    glUnmapBuffer(GL_COPY_READ_BUFFER);
    return gi_gpu_check(gpu, "reading results", err) && is_whole;
}

const void *gi_readback_wait(struct gi_readback *readback, struct gi_gpu *gpu,
                             struct glinfer_error *err)
{
    if (!gi_fence_wait(gpu, &readback->fence, 0, err)) {
        return NULL;
    }
    gi_fence_finish(gpu, &readback->fence);
    if (readback->size + readback->samples.used > 0 && !copy_out(readback, gpu, err)) {
        return NULL;
    }
    return readback->data;
}
