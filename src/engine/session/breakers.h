// Sequence breakers of DRY: texts, and the sequences of tokens that can contain them.
#pragma once

#include "sampler/repetition.h"
#include "tokenizer/tokenizer.h"

// Zero-initialised.
struct gi_breaker_list {
    struct gi_breaker *data; // complete once all are added
    size_t count, capacity;
    struct gi_ids ids; // of all of them
};

// Fills a list with the token sequences of each of n texts: a token that contains the text, or one
// that ends with its beginning and the tokens of the rest. At most 40 bytes of a text and 20 tokens
// after the first count. Fails with NO_MEMORY.
bool gi_breaker_list_fill(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer,
                          uint32_t n_vocab, const char *const *texts, size_t n,
                          struct glinfer_error *err);
// Frees the list. Accepts all-zero.
void gi_breaker_list_finish(struct gi_breaker_list *list);
