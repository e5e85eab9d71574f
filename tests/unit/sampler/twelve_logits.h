// A vocabulary of twelve tokens with logits that tests of samplers choose from.
#pragma once

#include "sampler/sampler.h"

enum { N = 12 }; // tokens

extern const float logits[N];

// Returns the parameters of a chain that changes nothing, with a seed.
struct gi_sampler_params plain(void);
// A failure fails the test.
struct gi_sampler_chain *create(const struct gi_sampler_params *params);
// Returns the choice of the chain from the logits at a position.
uint32_t apply(struct gi_sampler_chain *chain, uint32_t position);
