#include "gguf/gguf_reader.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdlib.h>

// Reads a block that begins at the cursor and has n bytes at least.
static bool read_block(struct gi_gguf_reader *r, uint64_t n)
{
    enum { BLOCK_SIZE = 256 << 10 };
    const uint64_t left = gi_gguf_reader_left(r);
    const uint64_t size = n > BLOCK_SIZE ? n : left < BLOCK_SIZE ? left : BLOCK_SIZE;
    struct gi_gguf_block *block = size < SIZE_MAX / 2 ? malloc(sizeof(*block) + size) : NULL;
    if (!block) {
        return gi_error_no_memory(r->err, (size_t)size, "the head of a GGUF file");
    }
    if (!gi_source_read(r->source, r->pos, (size_t)size, block->bytes, r->err)) {
        free(block);
        return false;
    }
    block->next = *r->blocks;
    block->begin = r->pos;
    block->size = size;
    *r->blocks = block;
    return true;
}

static const uint8_t *find_bytes(struct gi_gguf_reader *r, uint64_t n)
{
    const struct gi_gguf_block *last = *r->blocks;
    if ((!last || r->pos < last->begin || r->pos + n > last->begin + last->size) &&
        !read_block(r, n)) {
        return NULL;
    }
    return (*r->blocks)->bytes + (r->pos - (*r->blocks)->begin);
}

const uint8_t *gi_gguf_reader_bytes(struct gi_gguf_reader *r, uint64_t n, const char *what)
{
    if (n > gi_gguf_reader_left(r)) {
        gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                     "%s: %s at byte %" PRIu64 " takes %" PRIu64 " bytes, but the file ends at "
                     "byte %" PRIu64 ": it is damaged or was not downloaded completely",
                     r->path, what, r->pos, n, r->size);
        return NULL;
    }
    const uint8_t *bytes = r->source->memory ? r->source->memory + r->pos : find_bytes(r, n);
    r->pos += bytes ? n : 0;
    return bytes;
}

bool gi_gguf_reader_u32(struct gi_gguf_reader *r, uint32_t *out, const char *what)
{
    const uint8_t *bytes = gi_gguf_reader_bytes(r, sizeof(*out), what);
    *out = bytes ? gi_load_u32(bytes) : 0;
    return bytes;
}

bool gi_gguf_reader_u64(struct gi_gguf_reader *r, uint64_t *out, const char *what)
{
    const uint8_t *bytes = gi_gguf_reader_bytes(r, sizeof(*out), what);
    *out = bytes ? gi_load_u64(bytes) : 0;
    return bytes;
}

bool gi_gguf_reader_string(struct gi_gguf_reader *r, uint64_t max_size, struct gi_gguf_string *out,
                           const char *what)
{
    uint64_t start = r->pos, size;
    if (!gi_gguf_reader_u64(r, &size, what)) {
        return false;
    }
    if (size > max_size) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: %s at byte %" PRIu64 " is %" PRIu64 " bytes long, at most %" PRIu64
                            " are allowed: the file is damaged",
                            r->path, what, start, size, max_size);
    }
    const uint8_t *bytes = gi_gguf_reader_bytes(r, size, what);
    if (!bytes) {
        return false;
    }
    *out = (struct gi_gguf_string){(const char *)bytes, (size_t)size};
    return true;
}
