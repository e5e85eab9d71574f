// The program of a persistent dispatch: every kernel of a recorded table as a stage of one program,
// and the table as that program reads it. Used by persistent_executor.c; knows no GL calls.
//
// A stage is a kernel with one grid and label. Parameters and offsets that are the same in all of
// its entries become constants of the text; others are read from the table. Buffers are bound
// whole, once for each element type; buffers that an entry writes are coherent.
#pragma once

#include "gpu/dispatch/dispatch_table.h"

#define GI_PERSISTENT_MAX_BINDINGS 96
#define GI_PERSISTENT_CONTROL                                                                      \
    0 // storage bindings of the program: glsl/persistent/grid_barrier.glsl
#define GI_PERSISTENT_STATE 2

struct gi_persistent_source {
    char *text;
    uint32_t capability; // of all stages together
    uint32_t *table;     // n_words, of the uniform block
    uint32_t n_words;
    struct gi_range bindings[GI_PERSISTENT_MAX_BINDINGS]; // storage; buffer NULL: none, or control
    uint32_t n_bindings;
    struct gi_range states; // of a joint list's slots and its own; buffer NULL: of one sequence
};

// table is recorded, but not sealed; all of its groups have group_size invocations. Fails with
// UNSUPPORTED (a dispatch that cannot be a stage, too many bindings), NO_MEMORY, DRIVER.
bool gi_persistent_source_init(struct gi_persistent_source *source, const struct gi_gpu *gpu,
                               const struct gi_dispatch_table *table,
                               const struct gi_program_table *programs, uint32_t group_size,
                               struct glinfer_error *err);
// Accepts all-zero.
void gi_persistent_source_finish(struct gi_persistent_source *source);
