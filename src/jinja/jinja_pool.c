#include "jinja/jinja_pool.h"

#include "jinja/jinja_value.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_WORK = 100000000, // about a second
    BLOCK_SIZE = 1 << 16,
};

struct gi_jinja_block {
    struct gi_jinja_block *next;
    size_t used, size;
    max_align_t data[];
};

void gi_jinja_pool_init(struct gi_jinja_pool *pool, size_t limit, struct glinfer_error *err)
{
    *pool = (struct gi_jinja_pool){.limit = limit, .err = err};
}

void gi_jinja_pool_finish(struct gi_jinja_pool *pool)
{
    for (struct gi_jinja_block *block = pool->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    pool->blocks = NULL;
}

static void keep_failure(struct gi_jinja_pool *pool, enum glinfer_status status, unsigned line,
                         const char *format, va_list arguments)
{
    char place[48] = "", sentence[512];
    if (pool->has_failed) {
        return;
    }
    if (line) {
        snprintf(place, sizeof(place), "line %u of the chat template: ", line);
    }
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    pool->has_failed = true;
    gi_error_set(pool->err, status, "%s%s", place, sentence);
}

void gi_jinja_fail(struct gi_jinja_pool *pool, enum glinfer_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep_failure(pool, status, 0, format, arguments);
    va_end(arguments);
}

struct gi_jinja_value gi_jinja_refuse(struct gi_jinja_pool *pool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep_failure(pool, GLINFER_STATUS_UNSUPPORTED, pool->line, format, arguments);
    va_end(arguments);
    return gi_jinja_undefined();
}

void gi_jinja_spend(struct gi_jinja_pool *pool, size_t work)
{
    pool->work += work;
    if (pool->work > MAX_WORK) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "the chat template takes too long");
    }
}

static bool add_block(struct gi_jinja_pool *pool, size_t size)
{
    const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    if (pool->limit - pool->used < room) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED,
                      "the chat template takes more than %zu MiB of memory", pool->limit >> 20);
        return false;
    }
    struct gi_jinja_block *block = calloc(1, sizeof(*block) + room);
    if (!block) {
        gi_jinja_fail(pool, GLINFER_STATUS_NO_MEMORY,
                      "out of memory: no %zu bytes for a chat template", room);
        return false;
    }
    block->next = pool->blocks;
    block->size = room;
    pool->blocks = block;
    pool->used += room;
    return true;
}

void *gi_jinja_allocate(struct gi_jinja_pool *pool, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (pool->has_failed || size > pool->limit) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "the chat template takes too much memory");
        return NULL;
    }
    size = (size + align - 1) / align * align;
    if ((!pool->blocks || pool->blocks->size - pool->blocks->used < size) &&
        !add_block(pool, size)) {
        return NULL;
    }
    void *data = (char *)pool->blocks->data + pool->blocks->used;
    pool->blocks->used += size;
    return data;
}

void *gi_jinja_new(struct gi_jinja_pool *pool, size_t size)
{
    assert(size <= sizeof(pool->spare));
    void *data = gi_jinja_allocate(pool, size);
    return data ? data : memset(pool->spare, 0, size);
}
