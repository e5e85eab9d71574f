// The opened files. Private to this folder.
#pragma once

#include "hf/safetensors.h"

#include <cJSON.h>

struct gi_safetensors {
    char *path; // of the file or the folder; owned
    struct {
        struct gi_safetensors_file {
            struct gi_source source;
            cJSON *header; // names of tensors are strings of it
        } * data;
        size_t count, capacity;
    } files;
    struct {
        struct gi_safetensor *data;
        size_t count, capacity;
    } tensors;
};

// Returns an empty struct for a path; NULL without memory.
struct gi_safetensors *gi_safetensors_create(const char *path, struct glinfer_error *err);
// Opens one more file and appends its tensors. Fails as gi_safetensors_open does.
bool gi_safetensors_add(struct gi_safetensors *files, const struct glinfer_source *source,
                        struct glinfer_error *err);
// Sorts the tensors by name. Fails with BAD_FILE if a name appears twice.
bool gi_safetensors_sort(struct gi_safetensors *files, struct glinfer_error *err);
