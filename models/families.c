#include "models/families.h"

#include <string.h>

const struct gi_model_family *gi_model_family_find(const char *name, size_t size)
{
    for (size_t i = 0; gi_model_families[i]; i++) {
        const struct gi_model_family *family = gi_model_families[i];
        if (strlen(family->name) == size && memcmp(family->name, name, size) == 0) {
            return family;
        }
    }
    return NULL;
}

const char *gi_model_family_names(void)
{
    return gi_model_families_text;
}
