// A sequence: one text on its way through a model, that is its tokens in the KV cache and its
// position. What computes it lies in tables and a runner; the memory is the session's, for all of a
// step in as few buffers as can be.
#ifndef GI_ENGINE_SEQUENCE_H
#define GI_ENGINE_SEQUENCE_H

#include "base/error.h"
#include "ops/record/stream.h"
#include "tokenizer/tokenizer.h"

struct gi_sequence {
    uint32_t n_ctx;            // tokens that the cache holds at most
    uint32_t n_past;           // tokens in the cache
    int32_t pending;           // the last token sampled, not in the cache yet; GI_NO_TOKEN: none
    struct gi_kv_layer *cache; // (n_layer)
};

// Lays the cache of n_layer layers like *kv into as many ranges. Fails with NO_MEMORY.
bool gi_sequence_init(struct gi_sequence *sequence, uint32_t n_layer, const struct gi_kv_layer *kv,
                      const struct gi_range *ranges, struct glinfer_error *err);
// Accepts all-zero.
void gi_sequence_finish(struct gi_sequence *sequence);

// Forgets all tokens.
void gi_sequence_reset(struct gi_sequence *sequence);
// Forgets all tokens behind the first n; returns how many there are now, the pending one included.
size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n);

#endif
