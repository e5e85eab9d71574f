#include "gpu/memory/large_pages.h"

#include "gpu/device/gpu_private.h"
#include "gpu/memory/copy_log.h"

#include <unistd.h>

// Chooses the library's device that GL draws on.
static bool choose_device(struct gi_gpu *gpu, struct gi_cuda_pages *source,
                          struct glinfer_error *err)
{
    uint8_t uuid[GI_UUID_SIZE] = {0};
    gi_gpu_clear_errors(gpu);
    gpu->ext.get_unsigned_bytes(GL_DEVICE_UUID_EXT, 0, uuid);
    const GLenum error = glGetError();
    if (error != GL_NO_ERROR) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "GL error 0x%04x while asking for the device's UUID", error);
    }
    return gi_cuda_pages_choose(source, uuid, err);
}

// Opens the CUDA library and finds this device. Calls no GL if the library is missing, since zink
// prints errors for such calls.
static bool open_source(struct gi_gpu *gpu, struct glinfer_error *err)
{
    if (gpu->pages.source) {
        return true;
    }
    if (!gpu->ext.import_memory_fd) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the driver has no GL_EXT_memory_object_fd");
    }
    struct gi_cuda_pages *source = gi_cuda_pages_open(err);
    if (!source || !choose_device(gpu, source, err)) {
        gi_cuda_pages_close(source);
        return false;
    }
    gpu->pages.source = source;
    return true;
}

// Imports a descriptor as the buffer's memory. GL owns it from then on; a failure closes it.
static bool import(struct gi_gpu *gpu, struct gi_buffer *buffer, int fd, uint64_t allocated,
                   struct glinfer_error *err)
{
    const struct gi_gl_ext *ext = &gpu->ext;
    gi_gpu_clear_errors(gpu);
    ext->create_memory_objects(1, &buffer->memory);
    ext->import_memory_fd(buffer->memory, allocated, GL_HANDLE_TYPE_OPAQUE_FD_EXT, fd);
    GLenum error = glGetError();
    if (error != GL_NO_ERROR) {
        close(fd);
    } else {
        glBindBuffer(GL_COPY_WRITE_BUFFER, buffer->name);
        ext->buffer_storage_memory(GL_COPY_WRITE_BUFFER, (GLsizeiptr)buffer->size, buffer->memory,
                                   0);
        error = glGetError();
    }
    if (error == GL_NO_ERROR) {
        return true;
    }
    ext->delete_memory_objects(1, &buffer->memory);
    buffer->memory = 0;
    gi_gpu_clear_errors(gpu);
    return gi_error_set(err, GLINFER_STATUS_DRIVER, "GL error 0x%04x while importing %llu bytes",
                        error, (unsigned long long)allocated);
}

// Writes a mark to each page and reads it back: a driver may import a part of the memory only.
static bool holds_marks(struct gi_gpu *gpu, const struct gi_buffer *buffer,
                        struct glinfer_error *err)
{
    enum { STEP = 2 << 20 };
    bool ok = true;
    for (uint64_t at = 0; ok && at < buffer->size; at += STEP) {
        const uint32_t mark[4] = {(uint32_t)(at / STEP) + 1, buffer->name, ~buffer->name, 1};
        ok = gi_buffer_write(buffer, gpu, at, mark, sizeof(mark), err);
    }
    return ok && gi_copy_log_check(gpu, err);
}

// Puts back a buffer without storage.
static void release(struct gi_gpu *gpu, struct gi_buffer *buffer)
{
    const uint64_t size = buffer->size;
    gi_buffer_finish(buffer, gpu);
    glGenBuffers(1, &buffer->name);
    buffer->size = size;
}

// Stops the use of large pages. GLINFER_PAGES=large makes the reason a warning.
static void refuse(struct gi_gpu *gpu, const char *why)
{
    gpu->pages.is_refused = true;
    gi_log_write(&gpu->log, gpu->pages.from > 1 ? GLINFER_LOG_INFO : GLINFER_LOG_WARN,
                 "buffers lie in small pages: %s", why);
}

bool gi_large_pages_distrust(struct gi_gpu *gpu, const char *why)
{
    const bool may_help = gpu->pages.is_used && !gpu->pages.is_refused &&
                          gi_gpu_check(gpu, "leaving large pages", NULL);
    if (may_help) {
        refuse(gpu, why);
    }
    return may_help;
}

bool gi_large_pages_allocate(struct gi_gpu *gpu, struct gi_buffer *buffer)
{
    struct glinfer_error own = {0};
    uint64_t allocated = 0;
    if (gpu->pages.is_refused) {
        return false;
    }
    const int fd = open_source(gpu, &own)
                       ? gi_cuda_pages_export(gpu->pages.source, buffer->size, &allocated, &own)
                       : -1;
    bool ok = fd >= 0 && import(gpu, buffer, fd, allocated, &own);
    if (ok && !holds_marks(gpu, buffer, &own)) {
        release(gpu, buffer);
        ok = false;
    }
    if (ok) {
        gpu->pages.is_used = true;
        gi_log_write(&gpu->log, GLINFER_LOG_DEBUG, "%llu bytes in large pages",
                     (unsigned long long)allocated);
    } else {
        refuse(gpu, own.message);
    }
    return ok;
}
