// What the ends of a step share: sample.c, sample_many.c and sample_top.c.
#ifndef GI_OPS_SAMPLE_PRIVATE_H
#define GI_OPS_SAMPLE_PRIVATE_H

#include "ops/record/params.h"
#include "ops/sample/sample.h"

// A range of n uints of the logits' own, from `begin` on.
struct gi_range gi_logits_range(const struct gi_logits *logits, uint32_t begin, uint32_t n);

struct gi_sample_params gi_sample_fill_params(const struct gi_logits *logits);

// Invocations of a group, and groups at most, where many groups look through all logits.
void gi_sample_choose_shape(const struct gi_gpu *gpu, uint32_t *width, uint32_t *n_groups);

#endif
