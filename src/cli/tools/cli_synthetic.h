// Small model files with random weights, of shapes that models have, for tests of a device without
// a model.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Returns the name of shape i, NULL past the last.
const char *cli_synthetic_name(size_t i);
// Writes a GGUF file of shape i. False if it cannot be written.
bool cli_synthetic_write(size_t i, FILE *file);
