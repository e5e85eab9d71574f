// Fetches a file from a URL: goes on with what is here, tries again where the connection breaks,
// checks size, sha256 and that it is GGUF, and puts it in its place at once.
#ifndef MODELS_FETCH_H
#define MODELS_FETCH_H

#include "cli/common/cli_io.h"
#include "cli/models/models_source.h"

struct models_wanted {
    const char *name;   // for messages
    const char *url;    // where it is
    const char *path;   // where it is to lie
    const char *token;  // NULL: none
    const char *sha256; // "": what the server says, if it does
    uint64_t size;      // 0: what the server says
    int64_t timeout_s;  // for which a server may send nothing
};

// Fetches it. Returns false with the reason printed.
bool models_fetch(const struct models_wanted *wanted);
// Fetches a text of at most 16 MiB. Returns false with the reason printed.
bool models_fetch_text(const struct models_wanted *wanted, struct cli_bytes *text,
                       char next[MODELS_MAX_URL]);
// Computes the sha256 of a file, "" where that cannot be. Returns false with the reason printed.
bool models_hash_path(const char *path, char sha256[65]);

// False if the file at a path is a damaged GGUF file or ends before its tensors do; why then says
// so.
bool models_is_whole(const char *path, char *why, size_t size);

#endif
