// A partial download: "FILE.part", locked by the process that fetches it, and "FILE.part.from",
// which names its origin. If the process ends, the next one resumes there. FILE itself appears only
// when it is complete.
#pragma once

#include "cli/common/cli_io.h"
#include "cli/models/models_cache.h"

struct models_part {
    char path[MODELS_MAX_PATH]; // of the file to be
    int file;                   // of the part, locked; -1: none
    uint64_t size;              // bytes that are there
    // The origin of the part; "": unknown.
    char url[MODELS_MAX_URL], etag[256], sha256[65];
};

// Creates folders and opens and locks the part, waiting for a process that has it. *is_there is set
// if the whole file is there meanwhile, and nothing is opened then. Returns false with the reason
// printed.
bool models_part_open(struct models_part *part, const char *path, bool *is_there);
// Empties the part and writes its new origin. Returns false with the reason printed.
bool models_part_begin(struct models_part *part, const char *url, const char *etag,
                       const char *sha256);
// Appends bytes. Returns false with the reason printed.
bool models_part_append(struct models_part *part, const char *data, size_t size);
// Returns true if there is room for size more bytes. Returns false with the reason printed.
bool models_part_has_room(const struct models_part *part, uint64_t size);
// Puts the part in the file's place, for good. Returns false with the reason printed.
bool models_part_finish(struct models_part *part);
// Removes the part.
void models_part_discard(struct models_part *part);
// Closes it, and removes it if it is empty; the rest stays for the next process.
void models_part_close(struct models_part *part);

// Computes the sha256 of an open file of a size. Returns false with the reason printed.
bool models_hash_file(int file, const char *path, uint64_t size, struct cli_bar *bar,
                      char sha256[65]);
