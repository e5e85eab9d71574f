#include "gpu/memory/copy_log.h"

#include "gpu/device/gpu_private.h"
#include "gpu/device/settings.h"
#include "gpu/memory/readback.h"

#include <stdlib.h>
#include <string.h>

enum {
    WHOLE = 1024, // bytes of a copy that is sampled as a whole
    PIECE = 64,   // bytes of a sample of a larger one
};

bool gi_copy_log_init(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_copy_log *log = &gpu->copies;
    free(log->samples.expected); // of a context that was lost
    *log = (struct gi_copy_log){.samples.expected = malloc(GI_COPY_LOG_SIZE)};
    if (!log->samples.expected) {
        return gi_error_no_memory(err, GI_COPY_LOG_SIZE, "the device");
    }
    glGenBuffers(1, &log->name);
    glBindBuffer(GL_COPY_WRITE_BUFFER, log->name);
    glBufferData(GL_COPY_WRITE_BUFFER, GI_COPY_LOG_SIZE, NULL, GL_STREAM_COPY);
    gi_gpu_label(gpu, GL_BUFFER_KHR, log->name, "copies");
    return true;
}

void gi_copy_log_finish(struct gi_gpu *gpu)
{
    glDeleteBuffers(1, &gpu->copies.name);
    free(gpu->copies.samples.expected);
    gpu->copies = (struct gi_copy_log){0};
}

// Copies a sample to the log, where there has to be room.
static void take(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset, uint32_t size)
{
    struct gi_copy_log *log = &gpu->copies;
    glBindBuffer(GL_COPY_READ_BUFFER, buffer);
    glBindBuffer(GL_COPY_WRITE_BUFFER, log->name);
    glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (GLintptr)offset,
                        (GLintptr)log->samples.used, (GLsizeiptr)size);
    log->samples.used += size;
}

static bool add(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset, const uint8_t *data,
                uint32_t size, struct glinfer_error *err)
{
    struct gi_copy_log *log = &gpu->copies;
    if (log->samples.used + size > GI_COPY_LOG_SIZE && !gi_copy_log_check(gpu, err)) {
        return false;
    }
    if (data) {
        memcpy(log->samples.expected + log->samples.used, data, size);
    } else {
        memset(log->samples.expected + log->samples.used, 0, size);
    }
    take(gpu, buffer, offset, size);
    return true;
}

// Returns where the last piece begins that is not all zeros, which an unwritten buffer is.
static uint64_t find_piece(const uint8_t *data, uint64_t size)
{
    static const uint8_t zeros[PIECE];
    uint64_t at = size / PIECE * PIECE;
    at -= at + PIECE > size ? PIECE : 0;
    while (at > 0 && memcmp(data + at, zeros, PIECE) == 0) {
        at -= PIECE;
    }
    return at;
}

bool gi_copy_log_add(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset, const void *data,
                     uint64_t size, struct glinfer_error *err)
{
    const uint8_t *bytes = data;
    if (!data) {
        const uint32_t n = size < PIECE ? (uint32_t)size : PIECE;
        return add(gpu, buffer, offset + size - n, NULL, n, err);
    }
    if (size <= WHOLE) {
        return add(gpu, buffer, offset, bytes, (uint32_t)size, err);
    }
    const uint64_t piece = find_piece(bytes, size);
    return add(gpu, buffer, offset, bytes, PIECE, err) &&
           add(gpu, buffer, offset + piece, bytes + piece, PIECE, err);
}

void gi_copy_log_add_pair(struct gi_gpu *gpu, uint32_t from, uint64_t from_offset, uint32_t to,
                          uint64_t to_offset, uint64_t size)
{
    struct gi_copy_log *log = &gpu->copies;
    const uint32_t n = size < PIECE ? (uint32_t)size : PIECE;
    if (log->samples.n_pairs == GI_COPY_LOG_PAIRS || log->samples.used + 2 * n > GI_COPY_LOG_SIZE) {
        return;
    }
    memset(log->samples.expected + log->samples.used, 0,
           (size_t)2 * n); // of pairs nothing is compared
    log->samples.pairs[log->samples.n_pairs].at = log->samples.used;
    log->samples.pairs[log->samples.n_pairs++].size = n;
    take(gpu, from, from_offset + size - n, n);
    take(gpu, to, to_offset + size - n, n);
}

void gi_copy_log_take(struct gi_gpu *gpu, uint32_t buffer, uint64_t offset,
                      struct gi_copy_samples *samples)
{
    struct gi_copy_log *log = &gpu->copies;
    uint8_t *expected = samples->expected;
    *samples = log->samples;
    samples->expected = expected;
    memcpy(expected, log->samples.expected, samples->used);
    log->samples.used = log->samples.n_pairs = 0;
    if (samples->used > 0) {
        glBindBuffer(GL_COPY_READ_BUFFER, log->name);
        glBindBuffer(GL_COPY_WRITE_BUFFER, buffer);
        glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, (GLintptr)offset,
                            (GLsizeiptr)samples->used);
    }
}

static bool is_pair(const struct gi_copy_samples *samples, uint32_t at)
{
    bool is_pair = false;
    for (uint32_t i = 0; i < samples->n_pairs; i++) {
        is_pair = is_pair || (at >= samples->pairs[i].at &&
                              at - samples->pairs[i].at < 2 * samples->pairs[i].size);
    }
    return is_pair;
}

bool gi_copy_samples_check(const struct gi_gpu *gpu, const struct gi_copy_samples *samples,
                           const uint8_t *found, struct glinfer_error *err)
{
    bool is_whole = true;
    // Without the self-test a driver is believed: one without hardware copies nothing.
    if (gi_gpu_settings(gpu)->selftest == GI_CHOICE_NO) {
        return true;
    }
    for (uint32_t i = 0; i < samples->n_pairs; i++) {
        const uint8_t *pair = found + samples->pairs[i].at;
        is_whole =
            is_whole && memcmp(pair, pair + samples->pairs[i].size, samples->pairs[i].size) == 0;
    }
    for (uint32_t i = 0; is_whole && i < samples->used; i++) {
        is_whole = found[i] == samples->expected[i] || is_pair(samples, i);
    }
    return is_whole || gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                                    "%s lost a copy between buffers: it was probably reset",
                                    gi_gpu_platform(gpu)->renderer);
}

bool gi_copy_log_check(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_readback readback;
    if (gpu->copies.samples.used == 0) {
        return true;
    }
    if (!gi_readback_init(&readback, gpu, sizeof(uint32_t), err)) {
        return false;
    }
    gi_readback_begin(&readback);
    const bool ok =
        gi_readback_end(&readback, gpu, err) && gi_readback_wait(&readback, gpu, err) != NULL;
    gi_readback_finish(&readback, gpu);
    return ok;
}
