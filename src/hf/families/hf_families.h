// The table of families, a list for each file of this folder.
#pragma once

#include "hf/hf_build.h"

// Lists, each of which a row of NULL ends.
extern const struct gi_hf_family gi_hf_llama_families[];

// Returns the family of config.json; NULL with UNSUPPORTED, which names its model_type and all that
// are known.
const struct gi_hf_family *gi_hf_family_find(const struct gi_hf_build *b,
                                             struct glinfer_error *err);
