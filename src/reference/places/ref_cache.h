// Keys or values of a layer's KV cache, in the layout of ops/record/stream.h.
#pragma once

#include "ops/record/stream.h"
#include "reference/reference.h"

struct gi_ref_cache {
    const char *what; // "k" or "v"
    uint32_t binding;
    enum gi_cache_type type;
    uint32_t head_dim, n_ctx;
    uint64_t data, scales; // words of the binding
};

// Returns n rows of a head from a position on, (n, head_dim); NULL with has_failed.
const float *gi_ref_cache_rows(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                               uint32_t position, uint32_t n);
// Fills the first n positions of a head.
void gi_ref_cache_fill(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                       uint32_t n);
// Lists n positions of a head as written.
void gi_ref_cache_written(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                          uint32_t position, uint32_t n);
// Lists element i of a head at a position, of a cache without blocks.
void gi_ref_cache_expect(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                         uint32_t position, uint32_t i, struct gi_ref_value expected);
// Lists a row of a head.
void gi_ref_cache_expect_row(struct gi_ref *ref, const struct gi_ref_cache *cache, uint32_t head,
                             uint32_t position, const struct gi_ref_value *expected);
