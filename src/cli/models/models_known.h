// The table of small models that have a short name, with their source, size, sha256 and licence.
// glinfer supports the families and weight types of all of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct models_known {
    const char *name; // "smollm2-135m"
    const char *repo; // on the hub: "USER/REPO"
    const char *file; // in it, and in the cache's folder
    const char *sha256;
    uint64_t size; // bytes
    const char *licence;
    const char *text; // a description
};

// Returns row i of the table; NULL after the last.
const struct models_known *models_known_at(size_t i);
// Return the row with a name, or of a file on the hub; NULL: there is none.
const struct models_known *models_known_named(const char *name);
const struct models_known *models_known_file(const char *repo, const char *file);
// Writes the names that begin with a word, with commas between them; false: there are none.
bool models_known_beginning(const char *word, char *names, size_t size);
// Returns the name in the table that a misspelt one is nearest to; NULL: none is near.
const char *models_known_nearest(const char *name);
