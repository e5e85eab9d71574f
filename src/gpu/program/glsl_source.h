// Assembles the source of a program: version line, extensions, defines, then the kernel with its
// includes put in, each file once. ES has no #include, and wants #version on line one, so kernels
// carry neither #version nor include guards. Keeps a map from lines of the result to file and line,
// for the driver's messages. Plain C, no GL.
//
// Files come from those built into the library, or from the folder GLINFER_GLSL_DIR where that is
// set. `#include QUANT_FILE` names the unpacker of the program's weight type.
#pragma once

#include "gpu/program/program_table.h"

// Capabilities that a row of programs.def may need.
enum gi_capability {
    GI_CAPABILITY_BASE = 0,      // OpenGL ES 3.1
    GI_CAPABILITY_WG256 = 1,     // work groups of 256
    GI_CAPABILITY_WG512 = 2,     // ... of 512
    GI_CAPABILITY_WG1024 = 4,    // ... of 1024
    GI_CAPABILITY_SUBGROUPS = 8, // limits.subgroup_size 32, groups of 256; "#version 320 es"
    GI_CAPABILITY_TEXBUF = 16,   // EXT_texture_buffer
    GI_CAPABILITY_LLVMPIPE = 32, // straight-line code and private arrays that others do not compile
    GI_CAPABILITY_REGISTERS = 64,       // more than Mali-T has in groups of 128
    GI_CAPABILITY_HALF = 128,           // limits.has_fast_half
    GI_CAPABILITY_WG256_32K = 257,      // work groups of 256 that share 32 KiB
    GI_CAPABILITY_HALF_32K = 385,       // HALF and WG256_32K
    GI_CAPABILITY_FIVE_BLOCKS = 512,    // limits.max_storage_blocks 5
    GI_CAPABILITY_HALF_SUBGROUPS = 905, // HALF_32K, SUBGROUPS and FIVE_BLOCKS
};

struct gi_glsl_params {
    const char *file;          // kernel, relative to glsl/: "gemv/gemv_qkv.comp"
    const char *text;          // its text; NULL: looked up
    const char *dir;           // looked up here first; NULL: only the built-in files
    const char *fixed_defines; // "GEMV_SPLIT=1 WG_SIZE=64"; NULL or "": none
    const char *quant_file;    // "quant/basic/q4_0.glsl"; NULL: none
    const struct gi_define *defines;
    uint32_t n_defines;
    uint32_t capability; // GI_CAPABILITY_ bits
    bool is_wrong;       // stores wrong values, for tests
    bool is_shuffled;    // subgroups are made up of shared memory, for tests
    bool is_counted;     // its dispatches are counted (glsl/lib/run_count.glsl)
    bool counts_groups;  // with the parity of their groups
};

#define GI_GLSL_MAX_FILES 40

// The origin of a run of lines of the assembled text: line `first` of the text is line `line` of
// files[file], and so on until the next run.
struct gi_glsl_run {
    uint32_t first, file, line;
};

struct gi_glsl_source {
    char *text; // ends in 0
    size_t size;
    uint32_t n_lines;
    char *files[GI_GLSL_MAX_FILES]; // names; 0 is "defines"
    uint32_t n_files;
    struct gi_glsl_run *runs;
    uint32_t n_runs;
};

// Assembles the source. Fails with DRIVER (a file that is missing, includes nested deeper than 8 or
// in a circle, a #version in a kernel, all with file and line), IO, NO_MEMORY.
bool gi_glsl_source_init(struct gi_glsl_source *source, const struct gi_glsl_params *params,
                         struct glinfer_error *err);
// Accepts all-zero.
void gi_glsl_source_finish(struct gi_glsl_source *source);
