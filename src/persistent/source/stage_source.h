// Makes the text of a kernel part of a larger program: a stage of one that computes several kernels
// in turn (persistent_source.h). GLSL has no namespaces, so the text, assembled as for a program of
// its own, is read for the names that it declares at file level and then written again:
//
//   what it declares      gets a suffix, so that stages do not meet; shared memory is declared
//   once,
//                         for all stages that declare the same name with the same type
//   main                  becomes a function; initial values of variables are set before each call
//   prefetch              a function that a kernel may have, with the macro STAGE_PREFETCH: what
//                         can be done before the barrier that precedes the stage, for the same
//                         group, in registers alone. In a program of its own, where the macro STAGE
//                         is not defined, main calls it
//   storage blocks        array[i] becomes prefix(i)] as the caller says: a place in a buffer that
//                         the program has bound whole
//   Params                fields become expressions of the caller, constants where they are known
//   StepState             its instance becomes an instance of the caller
//   gl_WorkGroupID, gl_NumWorkGroups, gl_GlobalInvocationID
//                         become variables of the caller: those of the group that it computes
#pragma once

#include "persistent/source/stage_text.h"

#include <stdio.h>

#define GI_STAGE_MAX_BLOCKS  8
#define GI_STAGE_MAX_FIELDS  64
#define GI_STAGE_MAX_GLOBALS 256
#define GI_STAGE_MAX_SHARED  32

// The caller sets what stands instead of a block's array and of a field.
struct gi_stage_block {
    uint32_t binding;
    struct gi_stage_word name, type, array; // buffer Name { type array[]; }
    char prefix[96];                        // "": stays a block of its own, with own_binding
    uint32_t own_binding;
};

struct gi_stage_field {
    struct gi_stage_word name;
    bool is_float; // else uint
    char text[64];
};

struct gi_stage_shared {
    struct gi_stage_word name, type;
    bool is_array;
};

// The text of a kernel and its declarations, which point into the text.
struct gi_stage {
    struct gi_stage_tokens tokens; // owned
    struct gi_stage_block blocks[GI_STAGE_MAX_BLOCKS];
    uint32_t n_blocks;
    struct gi_stage_field fields[GI_STAGE_MAX_FIELDS]; // of Params, 4 bytes each
    uint32_t n_fields;
    struct gi_stage_word params, state; // instances; size 0: none
    struct gi_stage_shared shared[GI_STAGE_MAX_SHARED];
    uint32_t n_shared;
    struct gi_stage_word globals[GI_STAGE_MAX_GLOBALS];
    uint32_t n_globals;
    char suffix[16];        // of what the kernel declares: "_s3"; main becomes "stage_s3"
    const char *state_name; // instead of the instance of StepState
};

// Reads a kernel's text, which must outlive the stage. Fails with UNSUPPORTED if it declares what a
// stage cannot have.
bool gi_stage_init(struct gi_stage *stage, const char *text, struct glinfer_error *err);
// Accepts all-zero.
void gi_stage_finish(struct gi_stage *stage);

// Writes the stage, run<suffix>() and the macro PREFETCH<suffix>(), which is empty if the kernel
// has no prefetch. With has_sizes_only writes instead the sizes that it wants shared arrays to
// have, as macros SIZE_<name>_<type><suffix>: absent where a condition leaves the array out; the
// caller declares <name>_<type> before the stages. Fails with UNSUPPORTED if an array is used as
// other than array[i].
bool gi_stage_write(struct gi_stage *stage, bool has_sizes_only, FILE *out,
                    struct glinfer_error *err);
