// The folder of pulled models: $XDG_CACHE_HOME/glinfer/models. Known models are stored in it by
// file name, models of the hub in hf/USER/REPO, which is a folder with SafeTensors where it has
// config.json, models of other servers in HOST/PATH. An incomplete file has the suffix ".part", and
// a note of its origin in ".part.from".
#pragma once

#include "cli/models/models_source.h"

#define MODELS_MAX_PATH 4096

// Writes the folder to path, which need not exist. Returns false with the reason printed.
bool models_cache_folder(char path[MODELS_MAX_PATH]);
// Writes the path of a place in it. Returns false with the reason printed.
bool models_cache_path(const char *place, char path[MODELS_MAX_PATH]);

// A model; one in several files is one entry, with the place of its first.
struct models_entry {
    char *place;      // owned, below the folder, without ".part"
    uint64_t size;    // bytes on disk
    unsigned n_whole; // number of complete files
    bool is_whole;
    bool is_folder; // a model in SafeTensors; place is that of its folder
};
struct models_list {
    struct models_entry *items; // owned, by place
    size_t count, capacity;
};

// Lists the models that are there; an absent folder has none. Returns false with the reason
// printed.
bool models_cache_list(struct models_list *list);
void models_list_finish(struct models_list *list);

// Writes the name of a model, which -m takes and no other has: "smollm2-135m",
// "hf:USER/REPO/FILE.gguf", "HOST/PATH/FILE.gguf", or that of a file in the folder itself without
// ".gguf" or ".bin".
void models_entry_name(const struct models_entry *entry, char *name, size_t size);
// Returns the model with a name or a file name, and sets *count to the number of such models; NULL
// unless there is exactly one.
const struct models_entry *models_list_find(const struct models_list *list, const char *name,
                                            size_t *count);

// Writes the path of a source's model, and its name unless that is NULL. Returns false if it is not
// here, or not complete.
bool models_cache_find(const struct models_source *source, char path[MODELS_MAX_PATH], char *name,
                       size_t size);

// Removes folders on the way to a path in the cache that are empty.
void models_cache_prune(const char *path);
// Removes a model, whole or not, and folders that become empty. Returns false with the reason
// printed.
bool models_cache_remove(const struct models_entry *entry);
