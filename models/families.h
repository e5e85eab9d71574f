// Every family that is known: one line each.
#ifndef GI_MODELS_FAMILIES_H
#define GI_MODELS_FAMILIES_H

#include "graph/model_family.h"

#define GI_MODEL_FAMILIES(X)                                                                       \
    X(llama)                                                                                       \
    X(qwen2)                                                                                       \
    X(qwen3)                                                                                       \
    X(qwen3moe)                                                                                    \
    X(gemma2)                                                                                      \
    X(gemma3)                                                                                      \
    X(smollm3)                                                                                     \
    X(granite)                                                                                     \
    X(granitemoe)                                                                                  \
    X(phi3)                                                                                        \
    X(olmo2)                                                                                       \
    X(glm4)                                                                                        \
    X(gemma)                                                                                       \
    X(exaone4)                                                                                     \
    X(exaone)                                                                                      \
    X(internlm2)                                                                                   \
    X(ernie4_5)                                                                                    \
    X(minicpm)                                                                                     \
    X(stablelm)

#define GI_DECLARE_FAMILY(name) extern const struct gi_model_family gi_model_family_##name;
GI_MODEL_FAMILIES(GI_DECLARE_FAMILY)
#undef GI_DECLARE_FAMILY

#endif
