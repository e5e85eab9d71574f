// The inside of a program table, shared by its files.
#pragma once

#include "gpu/program/glsl_source.h"
#include "gpu/program/program_cache.h"
#include "gpu/program/program_table.h"

struct gi_program {
    struct gi_program_key key;
    const char *file, *fixed_defines, *quant_file; // literals; quant_file may be NULL
    char *text;                                    // owned: of a test's kernel; NULL: a row's
    const char *dir;     // borrowed: of the files; NULL: the embedded ones
    uint32_t capability; // GI_CAPABILITY_ bits
    uint32_t name;       // GL program, 0 until built
    char *refusal; // owned: why the driver refused it; NULL: it did not, or there was no memory
    enum gi_finding finding;
    char finding_text[200];
    char label[160];

    // While it is built:
    struct gi_glsl_source source;
    struct gi_hash cache_key;
    uint32_t n_compiled; // times that it was given to the driver
    uint32_t shader;     // 0: taken from the cache, or not begun
    bool is_ended;       // the driver has nothing left to do for it
};

struct gi_program_table {
    struct gi_gpu *gpu; // borrowed
    uint32_t n_owners;
    struct gi_program *programs;
    uint32_t n_programs;
    size_t capacity;
    uint32_t n_built; // the first n_built are
    struct gi_program_cache cache;
    struct gi_program_stats stats;
    bool is_doubted;        // findings on disk are not looked at
    char half_refusal[200]; // "": none is known
};

// Fills *params with the parts of the program, all borrowed from it.
void gi_program_describe_source(const struct gi_program *program, struct gi_glsl_params *params);
// Discards unfinished programs of a build; finished ones stay.
void gi_program_drop_unbuilt(struct gi_program_table *table);
