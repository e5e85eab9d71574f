// Reads what a kernel declares at file level: GLSL has no namespaces, so that kernels which become
// one program need names of their own. What a dispatch reads, writes, owns and hands on is said by
// its entry in the list, and what can be done before a barrier by the macro STAGE_PREFETCH.
//
// It reads what glsl/ is written in, no more: one declaration a statement at file level, blocks of
// one array, Params of 4-byte scalars, no #include. Plain C, no GL.
#ifndef GI_PERSISTENT_STAGE_SCAN_H
#define GI_PERSISTENT_STAGE_SCAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
