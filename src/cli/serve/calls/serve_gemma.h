// Calls as Gemma 4 writes them: call:name{key:value,...}, whose texts stand between <|"|> and are
// not escaped.
#ifndef SERVE_GEMMA_H
#define SERVE_GEMMA_H

#include "cli/serve/calls/serve_writer.h"

#define SERVE_GEMMA_QUOTE "<|\"|>"

// Reads a dictionary at *at and moves *at after it; NULL without one. *is_whole: the
// dictionary ends; otherwise it has the entries that do.
cJSON *serve_read_gemma(const char **at, const char *end, bool *is_whole);

// Writes a dictionary of a tool's parameters, in the order of their names as in the template, then
// `after`, the end of the line and the rules that the dictionary uses.
void serve_write_gemma(struct serve_writer *writer, const cJSON *parameters, const char *after);
// Writes the rules that all dictionaries share.
void serve_write_gemma_rules(struct serve_writer *writer);

#endif
