// Fills glinfer_model_info: what a file holds and what running it takes.
#ifndef GI_ENGINE_MODEL_INFO_H
#define GI_ENGINE_MODEL_INFO_H

#include "engine/load/model_plan.h"
#include "tokenizer/tokenizer.h"

// Fills the fields that need no plan: names, sizes, types. tokenizer may be NULL.
bool gi_model_info_file(struct glinfer_model_info *info, const struct gi_gguf *gguf,
                        const struct gi_tokenizer *tokenizer, struct glinfer_error *err);
// Fills the hyperparameters, and the estimate for the context and cache types of params.
void gi_model_info_plan(struct glinfer_model_info *info, const struct gi_model_plan *plan,
                        const struct glinfer_model_params *params);

#endif
