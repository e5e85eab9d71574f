// A sequence: one text on its way through a model, that is its tokens in the KV cache and its position. It owns the cache
// and nothing else; what computes it lies in tables and a runner.
#ifndef GI_ENGINE_SEQUENCE_H
#define GI_ENGINE_SEQUENCE_H

#include "engine/load/arena.h"
#include "ops/record/stream.h"
#include "tokenizer/tokenizer.h"

struct gi_sequence {
    uint32_t n_ctx;  // tokens that the cache holds at most
    uint32_t n_past; // tokens in the cache
    int32_t pending; // the last token sampled, not in the cache yet; GI_NO_TOKEN: none
    struct gi_arena arena;
    struct gi_kv_layer *cache; // (n_layer)
};

// Allocates a cache of n_layer layers like *kv, kv_size bytes each. Fails with NO_MEMORY, UNSUPPORTED, DRIVER.
bool gi_sequence_init(struct gi_sequence *sequence, struct gi_gpu *gpu, uint32_t n_layer,
                      const struct gi_kv_layer *kv, uint64_t kv_size, struct glinfer_error *err);
// Accepts all-zero.
void gi_sequence_finish(struct gi_sequence *sequence, struct gi_gpu *gpu);

// Forgets all tokens.
void gi_sequence_reset(struct gi_sequence *sequence);
// Forgets all tokens behind the first n; returns how many there are now, the pending one included.
size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n);

#endif
