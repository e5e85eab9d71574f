#include "models/families.h"

#include <string.h>

static const struct gi_model_family *const families[] = {
    &gi_model_family_llama,  &gi_model_family_qwen2,  &gi_model_family_qwen3,
    &gi_model_family_gemma3, &gi_model_family_gemma2,
};

const struct gi_model_family *gi_model_family_find(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (strlen(families[i]->name) == size && memcmp(families[i]->name, name, size) == 0) {
            return families[i];
        }
    }
    return NULL;
}

const char *gi_model_family_names(void)
{
    return "llama, qwen2, qwen3, gemma3, gemma2";
}
