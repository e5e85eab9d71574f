// The breakers of DRY, found by their first token.
#pragma once

#include "sampler/repetition.h"

// Copies n breakers. Fails with NO_MEMORY.
struct gi_breaker_set *gi_breaker_set_create(const struct gi_breaker *breakers, uint32_t n,
                                             struct glinfer_error *err);
// Accepts NULL.
void gi_breaker_set_destroy(struct gi_breaker_set *set);

// Returns the *n breakers that begin with a token; the pointer is unspecified if *n is 0.
const struct gi_breaker *gi_breaker_set_find(const struct gi_breaker_set *set, uint32_t first,
                                             uint32_t *n);
