#include "models/families.h"

#include <string.h>

#define FAMILY(name) &gi_model_family_##name,
static const struct gi_model_family *const families[] = {GI_MODEL_FAMILIES(FAMILY)};
#undef FAMILY

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
#define COMMA_NAME(name) ", " #name
    static const char names[] = GI_MODEL_FAMILIES(COMMA_NAME);
#undef COMMA_NAME
    return names + strlen(", ");
}
