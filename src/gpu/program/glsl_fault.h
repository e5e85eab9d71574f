// Makes the results of an assembled kernel wrong, for tests of what notices that: each value stored
// into a buffer of floats or words goes through a function that changes it. Of a kernel that ends a
// step only the token changes. Internal to gpu/.
#pragma once

#include "gpu/program/glsl_source.h"

// Defines those functions on one line, which precedes the kernel.
extern const char gi_glsl_fault_head[];

// Rewrites the stores in source->text; lines stay where they are. Fails with NO_MEMORY.
bool gi_glsl_fault_stores(struct gi_glsl_source *source, struct glinfer_error *err);
