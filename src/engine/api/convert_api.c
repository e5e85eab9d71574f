// glinfer_model_convert: a folder of SafeTensors becomes a GGUF file.
#include "base/arguments.h"
#include "base/array.h"
#include "base/new_file.h"
#include "gguf/gguf_writer.h"
#include "hf/folder/hf_folder.h"

#include <stdlib.h>

enum { CHUNK_BYTES = 8 << 20 };

struct job {
    const struct gi_gguf *gguf;
    const struct glinfer_model_params *params;
    struct gi_new_file file;
    uint64_t done, total; // bytes
    uint8_t *chunk;       // CHUNK_BYTES, or a row if that is larger
    size_t capacity;
    struct glinfer_error *err;
};

static bool write_some(struct job *job, const void *data, size_t size)
{
    job->done += size;
    if (!gi_new_file_write(&job->file, data, size, job->err)) {
        return false;
    }
    return !job->params->progress ||
           job->params->progress(job->params->progress_user, GLINFER_PHASE_LOAD, job->done,
                                 job->total) ||
           gi_error_set(job->err, GLINFER_STATUS_CANCELLED, "the conversion was cancelled");
}

// Writes zeros up to an offset in the file.
static bool pad(struct job *job, uint64_t offset)
{
    static const uint8_t zeros[64];
    while (job->done < offset) {
        const uint64_t left = offset - job->done;
        if (!write_some(job, zeros, left < sizeof(zeros) ? (size_t)left : sizeof(zeros))) {
            return false;
        }
    }
    return true;
}

// Writes a tensor in chunks of whole rows.
static bool write_tensor(struct job *job, const struct gi_gguf_tensor *tensor)
{
    const uint64_t row = tensor->size / (tensor->n_elements / tensor->dims[0]);
    const uint64_t most = row < CHUNK_BYTES ? CHUNK_BYTES / row * row : row;
    if (!pad(job, tensor->file_offset) || !gi_array_grow(&job->chunk, &job->capacity, (size_t)most,
                                                         1, "a chunk of a model", job->err)) {
        return false;
    }
    for (uint64_t at = 0; at < tensor->size; at += most) {
        const size_t n = (size_t)(tensor->size - at < most ? tensor->size - at : most);
        if (!gi_gguf_tensor_read(job->gguf, tensor, at, n, job->chunk, job->err) ||
            !write_some(job, job->chunk, n)) {
            return false;
        }
    }
    return true;
}

static bool write_file(struct job *job)
{
    size_t size;
    const uint8_t *head = gi_gguf_composed_head(job->gguf, &size);
    job->total = gi_gguf_file_size(job->gguf);
    bool ok = write_some(job, head, size);
    for (size_t i = 0; ok && i < gi_gguf_tensor_count(job->gguf); i++) {
        ok = write_tensor(job, gi_gguf_tensor_at(job->gguf, i));
    }
    return ok && pad(job, job->total) && gi_new_file_commit(&job->file, job->err);
}

bool glinfer_model_convert(const struct glinfer_model_params *params, const char *path,
                           struct glinfer_error *err)
{
    struct glinfer_model_params own = {0};
    struct job job = {.params = &own, .err = err};
    if (!GI_CHECK(err, GI_SET(path), GI_COPY(&own, params)) || !GI_CHECK(err, GI_SET(own.path))) {
        return false;
    }
    if (!gi_hf_is_folder(own.path)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%s: not a folder with config.json and SafeTensors", own.path);
    }
    struct gi_gguf *gguf = gi_hf_open_for_file(own.path, own.quantize, err);
    job.gguf = gguf;
    const bool ok = gguf && gi_new_file_open(&job.file, path, err) && write_file(&job);
    gi_new_file_close(&job.file);
    gi_gguf_close(gguf);
    free(job.chunk);
    return ok;
}
