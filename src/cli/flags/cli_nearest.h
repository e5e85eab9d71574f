// Guesses the word that a misspelt one means.
#pragma once

#include <stddef.h>

// Returns the only one of count words that a word is the beginning of, or the nearest to a misspelt
// one; NULL if there is none.
const char *cli_nearest(const char *word, const char *const *words, size_t count);
