// Fetches a file from a URL: resumes a partial download, retries after a broken connection, checks
// size, sha256 and that it is GGUF unless any file is wanted, and renames the file to its path when
// it is complete.
#pragma once

#include "cli/common/cli_io.h"
#include "cli/models/models_source.h"

struct models_wanted {
    const char *name;   // for messages
    const char *url;    // source
    const char *path;   // destination
    const char *token;  // NULL: none
    const char *sha256; // "": the server's, if it sends one
    uint64_t size;      // bytes; 0: the server's
    int64_t timeout_s;  // seconds that a server may be silent
    bool is_any;        // any file, not one of GGUF or of whisper.cpp
};

// Fetches the file. Returns false with the reason printed.
bool models_fetch(const struct models_wanted *wanted);
// Fetches a text of at most 16 MiB. Returns false with the reason printed.
bool models_fetch_text(const struct models_wanted *wanted, struct cli_bytes *text,
                       char next[MODELS_MAX_URL]);
// Computes the sha256 of a file, or "" without support for it. Returns false with the reason
// printed.
bool models_hash_path(const char *path, char sha256[65]);

// Returns false, with the reason in why, if the file is a damaged GGUF file or ends before its
// tensors.
bool models_is_whole(const char *path, char *why, size_t size);
