// Writes pictures as PNG files, uncompressed: a page of code in place of a library. Any program may
// call it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Writes rgba, (height, width, 4) bytes with the lowest row first as glReadPixels gives them, to a
// file without its alpha. Returns false, and leaves errno, if the file cannot be written.
bool png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height);
