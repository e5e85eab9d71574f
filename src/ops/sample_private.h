// What the ends of a step share: sample.c and sample_many.c.
#ifndef GI_OPS_SAMPLE_PRIVATE_H
#define GI_OPS_SAMPLE_PRIVATE_H

#include "ops/params.h"
#include "ops/sample.h"

// A range of n uints of the logits' own, from `begin` on.
struct gi_range gi_logits_range(const struct gi_logits *logits, uint32_t begin, uint32_t n);

struct gi_sample_params gi_sample_fill_params(const struct gi_logits *logits);

#endif
