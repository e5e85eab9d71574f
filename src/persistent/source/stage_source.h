// Makes the text of a kernel part of a larger program: a stage of one that computes several kernels
// in turn (persistent_source.h). The kernel stays as it is written; its text, assembled as for a
// program of its own, is read for what it declares at file level and then written again under other
// names:
//
//   what it declares      gets a suffix, so that stages do not meet; shared memory is declared once
//   main                  becomes a function; initial values of variables are set before each call
//   prefetch              a function that a kernel may have, with the macro STAGE_PREFETCH: what
//                         can be done before the barrier in front of the stage, for the same group,
//                         in registers alone. In a program of its own, where the macro STAGE is not
//                         defined, main calls it
//   storage blocks        array[i] becomes prefix(i)suffix as the caller says: a place in a buffer
//                         that the program has bound whole
//   Params                fields become expressions of the caller, constants where they are known
//   StepState             its instance becomes an instance of the caller
//   gl_WorkGroupID, gl_NumWorkGroups, gl_GlobalInvocationID
//                         become variables of the caller: the group that is being worked out
//
// It reads what glsl/ is written in, no more: one declaration a statement at file level, blocks of
// one array, Params of 4-byte scalars, no #include. Plain C, no GL.
#ifndef GI_PERSISTENT_STAGE_SOURCE_H
#define GI_PERSISTENT_STAGE_SOURCE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GI_STAGE_MAX_BLOCKS  8
#define GI_STAGE_MAX_FIELDS  64
#define GI_STAGE_MAX_GLOBALS 256
#define GI_STAGE_MAX_SHARED  32

// A word of the text that is read; not ended by 0.
struct gi_stage_word {
    const char *start;
    uint32_t size;
};

// The arguments of a %.*s.
#define GI_STAGE_TEXT(word) (int)(word).size, (word).start

struct gi_stage_block {
    uint32_t binding;
    struct gi_stage_word name, type, array; // buffer Name { type array[]; }
};

struct gi_stage_field {
    struct gi_stage_word name;
    bool is_float; // else uint
};

// Shared memory: stages are never at work at the same time, so those that declare the same name
// with the same type share it.
struct gi_stage_shared {
    struct gi_stage_word name, type;
    bool is_array;
};

// The declarations of a kernel. Words point into its text.
struct gi_stage_symbols {
    struct gi_stage_block blocks[GI_STAGE_MAX_BLOCKS];
    uint32_t n_blocks;
    struct gi_stage_field fields[GI_STAGE_MAX_FIELDS]; // of Params, 4 bytes each
    uint32_t n_fields;
    struct gi_stage_word params, state; // instances; size 0: none
    struct gi_stage_shared shared[GI_STAGE_MAX_SHARED];
    uint32_t n_shared;
    struct gi_stage_word globals[GI_STAGE_MAX_GLOBALS];
    uint32_t n_globals;
};

// Reads a kernel's text. Fails with UNSUPPORTED if it declares what a stage cannot have.
bool gi_stage_scan(const char *text, struct gi_stage_symbols *symbols, struct glinfer_error *err);

bool gi_stage_word_is(struct gi_stage_word word, const char *text);
bool gi_stage_is_equal(struct gi_stage_word a, struct gi_stage_word b);

struct gi_stage_names {
    const char *suffix; // of what the kernel declares: "_s3"; main becomes "stage_s3"
    const char *state;  // instead of symbols.state
    // Instead of the arrays of blocks and of the fields, in the order of symbols. A block whose
    // prefix is NULL stays one of its own, with the binding given.
    const char *prefixes[GI_STAGE_MAX_BLOCKS], *suffixes[GI_STAGE_MAX_BLOCKS];
    uint32_t bindings[GI_STAGE_MAX_BLOCKS];
    const char *fields[GI_STAGE_MAX_FIELDS];
};

// Writes the stage, run<suffix>() and the macro PREFETCH<suffix>(), which is empty if the kernel
// has no prefetch. With has_sizes_only writes instead the sizes that it wants shared arrays to
// have, as macros SIZE_<name>_<type><suffix>: absent where a condition leaves the array out; the
// caller declares <name>_<type> before the stages. Fails with UNSUPPORTED if an array is used as
// other than array[i].
bool gi_stage_write(const char *text, const struct gi_stage_symbols *symbols,
                    const struct gi_stage_names *names, bool has_sizes_only, FILE *out,
                    struct glinfer_error *err);

#endif
