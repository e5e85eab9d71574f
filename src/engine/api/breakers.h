// Sequence breakers of DRY: texts, and the sequences of tokens that they can be in.
#ifndef GI_ENGINE_BREAKERS_H
#define GI_ENGINE_BREAKERS_H

#include "sampler/repetition.h"
#include "tokenizer/tokenizer.h"

// Zero-initialised.
struct gi_breaker_list {
    struct gi_breaker *data; // finished once all are there
    size_t count, capacity;
    struct gi_ids ids; // of all of them
};

// Fills a list with the ways in which each of n texts can come: a token that contains it, or one
// that ends with its beginning and the tokens of the rest. At most 40 bytes of a text count, and at
// most 20 tokens after the first. Fails with NO_MEMORY.
bool gi_breaker_list_fill(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer,
                          uint32_t n_vocab, const char *const *texts, size_t n,
                          struct glinfer_error *err);
// Accepts all-zero.
void gi_breaker_list_finish(struct gi_breaker_list *list);

#endif
