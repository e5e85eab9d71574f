// Flags whose value is a file with a text: rows of kind CLI_KIND_FILE.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The limit of such a file in bytes.
#define CLI_MAX_TEXT (16 << 20)

// Reads a text file into *field, a const char *, which lives as long as the process. Writes into
// why what is wrong, as a sentence.
bool cli_parse_text_file(const char *path, void *field, char *why, size_t size);
// Does the same without the end of the last line.
bool cli_parse_line_file(const char *path, void *field, char *why, size_t size);
