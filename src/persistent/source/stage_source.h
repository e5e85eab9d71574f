// Makes the text of a kernel part of a larger program: a stage of one that computes several kernels
// in turn (persistent_source.h). The kernel stays as it is written; its text, assembled as for a
// program of its own, is read for the names that it declares at file level (stage_scan.h) and then
// written again under others:
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
#ifndef GI_PERSISTENT_STAGE_SOURCE_H
#define GI_PERSISTENT_STAGE_SOURCE_H

#include "persistent/source/stage_scan.h"

#include <stdio.h>

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
