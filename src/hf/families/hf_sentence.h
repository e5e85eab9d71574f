// Files of sentence models beside config.json: modules.json, the pooling and the projections after
// it; labels of classifiers.
#pragma once

#include "hf/hf_build.h"

// Adds pooling_type of the module of pooling that modules.json names, and classifier.pooling_type
// of config.json. Fails with BAD_FILE (a damaged file), NOT_FOUND (a missing one), UNSUPPORTED (a
// pooling other than mean, first token and last token).
void gi_hf_add_pooling(struct gi_hf_build *b);
// Adds the projections that modules.json names: their sizes, and their tensors dense_2.weight and
// dense_3.weight as f32. Fails as gi_hf_add_pooling and
// gi_safetensors_open_folder do; UNSUPPORTED: a third projection, an activation, a bias, a type
// other than F32 and BF16.
void gi_hf_add_dense(struct gi_hf_build *b);
// Adds classifier.output_labels of id2label, in the order of the ids, if the folder has a
// classifier.
void gi_hf_add_labels(struct gi_hf_build *b);
