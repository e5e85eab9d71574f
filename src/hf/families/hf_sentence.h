// Files of sentence models beside config.json: modules.json, the pooling and the projections after
// it; labels of classifiers.
#pragma once

#include "hf/hf_build.h"

// Adds pooling_type of the module of pooling that modules.json names, and classifier.pooling_type
// of config.json. Fails with BAD_FILE (a file without sense), UNSUPPORTED (neither mean, first nor
// last token).
void gi_hf_add_pooling(struct gi_hf_build *b);
// Adds the projections that modules.json names: their sizes, and their tensors dense_2.weight and
// dense_3.weight as f32. Fails with BAD_FILE (a shape that differs from the module's config.json).
void gi_hf_add_dense(struct gi_hf_build *b);
// Adds classifier.output_labels of id2label, in the order of the ids, if the folder has a
// classifier.
void gi_hf_add_labels(struct gi_hf_build *b);
