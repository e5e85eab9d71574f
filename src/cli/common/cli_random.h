// Random letters.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes n letters and digits, at most 31, that nobody can guess, and a zero byte. Returns false if
// the system has no random numbers: then the letters only differ between calls.
bool cli_random_letters(char *text, size_t n);
