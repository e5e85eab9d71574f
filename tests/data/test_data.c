#include "tests/data/test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TEST_DATA
#error "TEST_DATA: the folder tests of the sources"
#endif

static char path[4096];

static const char *find_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *test_data(const char *file)
{
    const char *folder = find_variable("GLINFER_TEST_DATA");
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : TEST_DATA, file);
    return path;
}

const char *test_model(const char *file)
{
    const char *model = find_variable("GLINFER_TEST_MODEL");
    const char *cache = find_variable("XDG_CACHE_HOME"), *home = find_variable("HOME");
    if (model && strcmp(file, "SmolLM2-135M-Instruct.Q4_1.gguf") == 0) {
        snprintf(path, sizeof(path), "%s", model);
    } else if (cache) {
        snprintf(path, sizeof(path), "%s/glinfer/models/%s", cache, file);
    } else {
        snprintf(path, sizeof(path), "%s/.cache/glinfer/models/%s", home ? home : "", file);
    }
    return path;
}
