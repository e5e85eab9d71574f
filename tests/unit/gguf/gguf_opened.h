// Opens files that gguf_builder.h wrote, for tests of sound files and of refused ones.
#pragma once

#include "tests/unit/gguf/gguf_builder.h"

struct opened {
    uint8_t *bytes;
    struct gi_gguf *gguf; // NULL: err says why
    struct glinfer_error err;
};

// Opens a copy of the first size bytes that is exactly as large, so that a sanitizer sees a byte
// too many.
struct opened open_bytes(const struct gguf_builder *b, size_t size);
void close_bytes(struct opened *o);
#define OPENED __attribute__((cleanup(close_bytes))) struct opened // closed with its scope
struct opened open_sound_file(void);

// The file is refused, in a message that names it and says so. Finish the builder.
void assert_refused(struct gguf_builder *b, enum glinfer_status status, const char *says);
void assert_bad(struct gguf_builder *b, const char *says); // BAD_FILE

void assert_string_is(struct gi_gguf_string s, const char *expected);
