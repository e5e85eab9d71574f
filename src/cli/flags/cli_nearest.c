#include "cli/flags/cli_nearest.h"

#include <stdint.h>
#include <string.h>

enum { MAX_NAME = 48 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Returns the Levenshtein distance; names are short.
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1];
    size_t n = strlen(b);
    if (n > MAX_NAME || strlen(a) > MAX_NAME) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t changed = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = smaller(changed, smaller(row[j], row[j + 1]) + 1);
        }
    }
    return row[n];
}

// Returns the only word that begins with `word`; NULL if there are several, or none.
static const char *only_beginning(const char *word, const char *const *words, size_t count)
{
    const char *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < count && strspn(word, "-/") + 1 < strlen(word); i++) {
        if (strncmp(words[i], word, strlen(word)) == 0) {
            only = words[i];
            n++;
        }
    }
    return n == 1 ? only : NULL;
}

const char *cli_nearest(const char *word, const char *const *words, size_t count)
{
    const char *only = only_beginning(word, words, count), *nearest = NULL;
    size_t least = 3;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, words[i]);
        // Words that differ in most letters are not misspellings.
        if (distance < least && 2 * distance <= strlen(word) + 1 && strlen(word) > 2) {
            least = distance;
            nearest = words[i];
        }
    }
    return only ? only : nearest;
}
