// The table of families, a list for each file of this folder.
#pragma once

#include "hf/hf_build.h"

// Lists, each of which a row of NULL ends.
extern const struct gi_hf_family gi_hf_llama_families[];
extern const struct gi_hf_family gi_hf_bert_families[];
extern const struct gi_hf_family gi_hf_gemma_families[];
extern const struct gi_hf_family gi_hf_gpt_oss_families[];
extern const struct gi_hf_family gi_hf_granite_families[];
extern const struct gi_hf_family gi_hf_lfm2_families[];
extern const struct gi_hf_family gi_hf_olmo2_families[];
extern const struct gi_hf_family gi_hf_phi3_families[];
extern const struct gi_hf_family gi_hf_qwen35_families[];

// Returns the family of config.json; NULL with UNSUPPORTED, which names its model_type and all that
// are known.
const struct gi_hf_family *gi_hf_family_find(const struct gi_hf_build *b,
                                             struct glinfer_error *err);
