// The memory of a template's nodes or of a run's values, freed at once, and its first failure.
// After a failure operations do nothing and return undefined or empty values; long loops look at
// has_failed. Private to this folder.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gi_jinja_block;
struct gi_jinja_value;

struct gi_jinja_pool {
    struct gi_jinja_block *blocks;
    size_t used, limit; // bytes
    uint64_t work;      // counted by gi_jinja_spend
    unsigned line;      // of the template, for messages
    bool has_failed;
    struct glinfer_error *err; // may be NULL
    max_align_t spare[16];     // handed out by gi_jinja_new after a failure
};

void gi_jinja_pool_init(struct gi_jinja_pool *pool, size_t limit, struct glinfer_error *err);
void gi_jinja_pool_finish(struct gi_jinja_pool *pool);
// Returns zeroed memory; NULL after a failure.
void *gi_jinja_allocate(struct gi_jinja_pool *pool, size_t size);
// Returns a zeroed object of at most sizeof(pool->spare) bytes; never NULL. After a failure all
// objects are the same memory.
void *gi_jinja_new(struct gi_jinja_pool *pool, size_t size);

// Keeps the first failure.
void gi_jinja_fail(struct gi_jinja_pool *pool, enum glinfer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Fails with UNSUPPORTED and names the line. Returns undefined, for callers to return.
struct gi_jinja_value gi_jinja_refuse(struct gi_jinja_pool *pool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Counts work that takes time without memory: elements looked at, and bytes 16 at a time. Fails if
// a template does too much of it.
void gi_jinja_spend(struct gi_jinja_pool *pool, size_t work);
