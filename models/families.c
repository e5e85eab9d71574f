#include "models/families.h"

#include <stdio.h>
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

const char *gi_model_family_names(char names[GI_FAMILY_NAMES_SIZE])
{
    size_t used = 0;
    const char *last = "";
    names[0] = '\0';
    for (size_t i = 0; gi_model_families[i]; i++) {
        const char *name = gi_model_families[i]->name;
        const size_t size = strlen(name);
        const bool is_tower = strchr(name, '.');
        if (!is_tower && strcmp(name, last) != 0 && used + size + 3 < GI_FAMILY_NAMES_SIZE) {
            used += (size_t)snprintf(names + used, GI_FAMILY_NAMES_SIZE - used, "%s%s",
                                     used > 0 ? ", " : "", name);
        }
        last = name; // variants of a family are neighbours
    }
    return names;
}
