// The inside of a program table, shared by its files.
#ifndef GI_GPU_PROGRAM_PRIVATE_H
#define GI_GPU_PROGRAM_PRIVATE_H

#include "gpu/program_table.h"

struct gi_program {
    struct gi_program_key key;
    const char *file, *fixed_defines, *quant_file; // literals; quant_file may be NULL
    char *text;                                    // owned: of a test's kernel; NULL: a row's
    uint32_t capability;                           // GI_CAPABILITY_ bits
    uint32_t name;                                 // GL program, 0 until built
    char label[160];
};

struct gi_program_table {
    struct gi_gpu *gpu; // borrowed
    struct gi_program *programs;
    uint32_t n_programs, capacity;
    uint32_t n_built; // the first n_built are
    struct gi_program_stats stats;
};

#endif
