#include "tests/unit/gguf/gguf_opened.h"

#include "tests/unit/cmocka_test.h"

#include <stdlib.h>

struct opened open_bytes(const struct gguf_builder *b, size_t size)
{
    struct opened o = {0};
    o.bytes = malloc(size + 1);
    assert_non_null(o.bytes);
    uint8_t *start = o.bytes + 1; // odd, so that unaligned reads show
    memcpy(start, b->data, size);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the bytes leave with the struct
    o.gguf = gi_gguf_open(GI_SOURCE_MEMORY(start, size, "test.gguf"), &o.err);
    return o;
}

void close_bytes(struct opened *o)
{
    gi_gguf_close(o->gguf);
    free(o->bytes);
}

struct opened open_sound_file(void)
{
    struct gguf_builder b = {0};
    gguf_sound_file(&b);
    struct opened o = open_bytes(&b, b.size);
    gguf_finish(&b);
    must(o.gguf, &o.err);
    return o;
}

void assert_refused(struct gguf_builder *b, enum glinfer_status status, const char *says)
{
    struct opened o = open_bytes(b, b->size);
    assert_null(o.gguf);
    assert_int_equal(o.err.status, status);
    assert_memory_equal(o.err.message, "test.gguf: ", 11);
    assert_says(o.err.message, says);
    close_bytes(&o);
    gguf_finish(b);
}

void assert_bad(struct gguf_builder *b, const char *says)
{
    assert_refused(b, GLINFER_STATUS_BAD_FILE, says);
}

void assert_string_is(struct gi_gguf_string s, const char *expected)
{
    assert_int_equal(s.size, strlen(expected));
    assert_memory_equal(s.data, expected, s.size);
}
