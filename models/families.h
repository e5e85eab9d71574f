// Every family that is known: one line each.
#ifndef GI_MODELS_FAMILIES_H
#define GI_MODELS_FAMILIES_H

#include "graph/model_family.h"

extern const struct gi_model_family gi_model_family_llama;
extern const struct gi_model_family gi_model_family_qwen2;
extern const struct gi_model_family gi_model_family_qwen3;
extern const struct gi_model_family gi_model_family_gemma3;
extern const struct gi_model_family gi_model_family_gemma2;

#endif
