// Every row of programs.def with typical defines, for those who want to see each program once: the
// dump for glslangValidator and the test that builds them all.
#ifndef PROGRAM_VARIANTS_H
#define PROGRAM_VARIANTS_H

#include "gpu/glsl_source.h"

struct program_variant {
    struct gi_program_key key;           // only defines that the program mentions
    const struct gi_glsl_source *source; // assembled; lives during the call
    char name[96];                       // "GEMV_QKV_ROW.q4_0.1": fit for a file
};

// Calls each for every variant: every weight type where the kernel unpacks weights, and two sets of
// defines. Stops at false, and returns it. Needs no GL.
bool program_variants_visit(bool (*each)(void *user, const struct program_variant *variant),
                            void *user, struct glinfer_error *err);

#endif
