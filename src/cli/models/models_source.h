// Parses the user's name of a model: a name, a repository of the hub, a URL or a path; and finds
// the place of its file in the cache. Parses text only: no file, no network. Refuses invalid text,
// such as a name that leads out of the cache.
#pragma once

#include "cli/models/models_known.h"

#include <stdbool.h>

enum models_kind {
    MODELS_PATH, // "models/x.gguf", "x.gguf": a slash, or the ending of a file of weights
    MODELS_NAME, // "smollm2-135m"
    MODELS_HUB,  // "hf:USER/REPO", "hf:USER/REPO:QUANT", "hf:USER/REPO/FILE.gguf"
    MODELS_URL,  // "https://..."
};

#define MODELS_MAX_URL 3072
struct models_source {
    enum models_kind kind;
    const struct models_known *known; // row of the table, or NULL
    char repo[208];                   // of the hub: "USER/REPO"
    char quant[64];                   // of the hub, "" for any
    char file[512];                   // of the hub; "" if it is to be chosen
    char url[MODELS_MAX_URL];         // of kind URL
    char place[1024];                 // below the cache's folder; "" if the file is to be chosen
};

// Reads a word. False with a sentence in why that follows the word, such as "has no repository".
bool models_source_read(struct models_source *source, const char *word, char *why, size_t size);
// Reads the word after "hf:" or -hf, with the file of -hff or NULL, in the same way.
bool models_source_read_hub(struct models_source *source, const char *word, const char *file,
                            char *why, size_t size);
// Sets the file of a hub's source and its place. False if no path in the cache can be made of it.
bool models_source_choose(struct models_source *source, const char *file);

// True for "a/b/c": no empty, hidden, overlong or strange names, so that it stays below a folder.
bool models_is_place(const char *place);
// Returns where the five digits of a piece's number begin in the first size bytes of a text that
// ends in "-00002-of-00003.gguf", and sets number and count; returns 0 and a count of 1 for a whole
// model.
size_t models_piece(const char *text, size_t size, unsigned *number, unsigned *count);
// Changes the number of the piece in a path. at: where its digits begin.
void models_set_piece(char *text, size_t at, unsigned number);
// True for a text that ends with another, in any case.
bool models_ends_with(const char *text, const char *end);
// Returns true for the path in a repository of a file that belongs to a model in SafeTensors:
// config.json, model*.safetensors, tokenizer.json and the like.
bool models_is_folder_file(const char *path);
// Returns true for a name that whisper.cpp gives its files, such as ggml-tiny.bin.
bool models_is_ggml(const char *path);
// Returns the length of a path without the ending of a file of weights, ".gguf" or ".bin"; 0 for
// another file.
size_t models_stem_size(const char *path);
// Returns the part of a path after its last slash.
const char *models_base_name(const char *path);
// Returns the host in a URL and the rest after it, without a name and a password.
const char *models_host(const char *url);
// Copies a URL for a message, without the name and the password in it. Returns shown.
const char *models_shown(const char *url, char shown[MODELS_MAX_URL]);
// True for 64 hexadecimal digits.
bool models_is_sha256(const char *text);
