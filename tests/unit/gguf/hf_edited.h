// Folders of tests/data with another config.json.
#pragma once

#include "hf/folder/hf_folder.h"
#include "tests/data/test_data.h"
#include "tests/unit/temp_folder.h"

#include <string.h>

// Opens a folder of tests/data whose config.json has a text in place of another.
static inline struct gi_gguf *open_edited(const char *name, const char *text, const char *other,
                                          struct glinfer_error *err)
{
    char file[128], path[300];
    size_t size;
    snprintf(file, sizeof(file), "data/folders/%s/config.json", name);
    char *config = read_file(test_data(file), &size), *place = strstr(config, text);
    assert_non_null(place);
    FILE *out = fopen(temp_path("config.json"), "wb");
    assert_non_null(out);
    fprintf(out, "%.*s%s%s", (int)(place - config), config, other, place + strlen(text));
    fclose(out);
    free(config);
    snprintf(file, sizeof(file), "data/folders/%s/model.safetensors", name);
    snprintf(path, sizeof(path), "%s", test_data(file));
    remove(temp_path("model.safetensors"));
    assert_int_equal(symlink(path, temp_path("model.safetensors")), 0);
    return gi_hf_open(temp_folder, NULL, err);
}
