// Strings of JSON, without cJSON.
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

// Writes what stands for a byte of a string; returns its size.
size_t cli_json_escape(char byte, char text[8]);
// Writes a string of UTF-8 to the file, with its quotes.
void cli_json_write_text(FILE *file, const char *text);

#endif
