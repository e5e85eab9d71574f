// A cursor over the bytes of a file: every read is checked against the end, and the first failure
// is told with what was being read and where. Bytes of a file are read in blocks as the cursor
// comes to them. Private to this folder.
#pragma once

#include "base/source.h"
#include "gguf/gguf.h"

// Bytes of a file in memory, as long as the gguf lives.
struct gi_gguf_block {
    struct gi_gguf_block *next; // read before
    uint64_t begin, size;       // in the file
    uint8_t bytes[];
};

struct gi_gguf_reader {
    const struct gi_source *source; // borrowed
    struct gi_gguf_block **blocks;  // the last that was read first; owned by the gguf
    uint64_t size;
    uint64_t pos;              // <= size
    const char *path;          // for messages; borrowed
    struct glinfer_error *err; // borrowed, may be NULL
};

static inline uint64_t gi_gguf_reader_left(const struct gi_gguf_reader *r)
{
    return r->size - r->pos;
}

// Takes n bytes and returns where they start, for as long as the gguf lives. NULL with BAD_FILE if
// the file ends before, IO if they cannot be read, NO_MEMORY. what names them in the message.
const uint8_t *gi_gguf_reader_bytes(struct gi_gguf_reader *r, uint64_t n, const char *what);
bool gi_gguf_reader_u32(struct gi_gguf_reader *r, uint32_t *out, const char *what);
bool gi_gguf_reader_u64(struct gi_gguf_reader *r, uint64_t *out, const char *what);
// Reads a string of at most max_size bytes, which stay in the file.
bool gi_gguf_reader_string(struct gi_gguf_reader *r, uint64_t max_size, struct gi_gguf_string *out,
                           const char *what);

// Length and data of a gi_gguf_string for "%.*s", cut to what a message has room for.
#define GI_SHOW_SIZE 96
#define GI_SHOW(s)   (int)((s).size < GI_SHOW_SIZE ? (s).size : GI_SHOW_SIZE), (s).data
