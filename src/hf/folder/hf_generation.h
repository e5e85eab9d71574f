// Sampling that a folder recommends.
#pragma once

#include "hf/hf_build.h"

// Adds general.sampling.* of generation_config.json, if there is one that samples. Fails with
// BAD_FILE (a number of another kind, which is named), NO_MEMORY, IO.
void gi_hf_add_sampling(struct gi_hf_build *b);
