#include "gguf/identity.h"

#include "base/array.h"
#include "gguf/gguf_file.h"

#include <stdlib.h>

#define BLOCK_SIZE  (64u << 10)
#define SAMPLE_SIZE 256u // bytes of a tensor

static uint64_t find_head_size(const struct gi_gguf *gguf)
{
    uint64_t size = gguf->source.size;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct gi_gguf_tensor *tensor = &gguf->tensors[i];
        size = tensor->file == 0 && tensor->file_offset < size ? tensor->file_offset : size;
    }
    return size;
}

// Adds the size of one file and what comes before its tensors.
static bool add_head(const struct gi_gguf *gguf, struct gi_hash *hash, uint8_t *block,
                     struct glinfer_error *err)
{
    const uint64_t size = find_head_size(gguf);
    gi_hash_add(hash, &gguf->source.size, sizeof(gguf->source.size));
    for (uint64_t done = 0, n; done < size; done += n) {
        n = size - done < BLOCK_SIZE ? size - done : BLOCK_SIZE;
        if (!gi_source_read(&gguf->source, done, n, block, err)) {
            return false;
        }
        gi_hash_add(hash, block, n);
    }
    return true;
}

static bool add_samples(const struct gi_gguf *gguf, struct gi_hash *hash, uint8_t *block,
                        struct glinfer_error *err)
{
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct gi_gguf_tensor *tensor = &gguf->tensors[i];
        const size_t n = tensor->size < SAMPLE_SIZE ? (size_t)tensor->size : SAMPLE_SIZE;
        if (!gi_gguf_tensor_read(gguf, tensor, (tensor->size - n) / 2, n, block, err)) {
            return false;
        }
        gi_hash_add(hash, block, n);
    }
    return true;
}

bool gi_gguf_identify(const struct gi_gguf *gguf, struct gi_hash *hash, struct glinfer_error *err)
{
    uint8_t *block = gi_array_zeroed(BLOCK_SIZE, 1, "a block of a file", err);
    bool ok = block;
    gi_hash_init(hash);
    for (uint32_t i = 0; ok && i <= gguf->n_pieces; i++) {
        ok = add_head(gi_gguf_file(gguf, i), hash, block, err);
    }
    ok = ok && add_samples(gguf, hash, block, err);
    free(block);
    return ok;
}
