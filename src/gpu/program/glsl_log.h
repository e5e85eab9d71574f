// Translates a driver's messages about an assembled source to the files and lines that it was made
// of. Plain C, no GL.
#pragma once

#include "gpu/program/glsl_source.h"

// Finds the file and line of a line of the text, counted from 1. Returns false past the end.
bool gi_glsl_source_locate(const struct gi_glsl_source *source, uint32_t line, const char **file,
                           uint32_t *file_line);

// Rewrites the driver's log into out (size bytes, always ended by 0): each place that names a line
// of the text becomes "file:line: ". Knows the words of Mesa "0:20(5): error", NVIDIA "0(20) :
// error", glslang "ERROR: 0:20:" and the Mali and Adreno drivers "0:20: ". Lines in other words are
// passed on as they are.
void gi_glsl_source_log(const struct gi_glsl_source *source, const char *log, char *out,
                        size_t size);
