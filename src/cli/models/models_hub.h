// Reads the hub's list of a repository, and chooses among its files.
#pragma once

#include "cli/models/models_source.h"

struct models_file {
    char path[512];  // in the repository
    char sha256[65]; // "": not known
    uint64_t size;
};
struct models_files {
    struct models_file *items; // owned
    size_t count, capacity;
    struct {
        struct models_file *items; // owned
        size_t count, capacity;
    } folder;         // files of a model in SafeTensors
    bool has_strange; // GGUF files with names that are not allowed here
    bool has_adapter; // a LoRA adapter of PEFT
};

// Adds the files of GGUF and of whisper.cpp in an answer of the hub's tree, and those of a model in
// SafeTensors. False if the answer is not a list.
bool models_hub_read(struct models_files *files, const char *json, size_t size);
// Returns the file that a source asks for by its name or its type of weights; without either, a
// file of the most preferred type, small and fast ones first. Of a model in several files it is the
// first, unless another is asked for by name. NULL with a sentence in why that follows the
// repository's name.
const struct models_file *models_hub_choose(const struct models_files *files,
                                            const struct models_source *source, char *why,
                                            size_t size);

// Returns true for the files of a model in SafeTensors, its tokenizer.json among them, without a
// file of GGUF or of whisper.cpp.
bool models_hub_is_folder(const struct models_files *files);
void models_files_finish(struct models_files *files);
// Returns the file of a path, or NULL.
const struct models_file *models_hub_find(const struct models_files *files, const char *path);
