// The tuning of a device: the fastest measured shape for a kernel on a matrix of some type and
// size. Ops look shapes up while recording; for an unknown key or an invalid shape they use their
// own table. A shape is a short text in the syntax of the environment variable that overrides it,
// such as "split:256:4"; only its op parses it. Plain C; the cache keeps the text of a whole
// tuning. One thread at a time.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define GI_TUNING_KERNEL_SIZE 24 // of a kernel's name with its 0
#define GI_TUNING_SHAPE_SIZE  32 // of a shape with its 0

// The kernel and matrix that a shape is for. Fields that a kernel does not use are 0.
struct gi_tuning_key {
    const char *kernel;      // a literal: "gemv_qkv"
    uint32_t type;           // enum gi_ggml_type of the weights; GI_TUNING_NO_TYPE
    uint32_t n_rows, n_cols; // of the matrix part; attention: heads, elements of a head
    uint32_t extent;         // gemm: tokens of a batch; attention: tokens of the context
};
#define GI_TUNING_NO_TYPE UINT32_MAX

// The key of the form of a device's prompt kernels, "split" or "lane".
#define GI_TUNING_BATCH                                                                            \
    {                                                                                              \
        .kernel = "batch", .type = GI_TUNING_NO_TYPE                                               \
    }

// The key of how a device dispatches grids that change, "direct" or "indirect". The executor reads
// it, no op does.
#define GI_TUNING_DISPATCH                                                                         \
    {                                                                                              \
        .kernel = "dispatch", .type = GI_TUNING_NO_TYPE                                            \
    }

bool gi_tuning_is_same_key(const struct gi_tuning_key *a, const struct gi_tuning_key *b);

struct gi_tuning;

struct gi_tuning *gi_tuning_create(struct glinfer_error *err);
void gi_tuning_destroy(struct gi_tuning *tuning);

// Returns the shape of a key, or NULL if there is none; tuning may be NULL.
const char *gi_tuning_find(const struct gi_tuning *tuning, const struct gi_tuning_key *key);
// Sets or replaces the shape of a key; NULL removes the key. The shape consists of small letters,
// digits and ':' and fits GI_TUNING_SHAPE_SIZE. Fails with NO_MEMORY.
bool gi_tuning_set(struct gi_tuning *tuning, const struct gi_tuning_key *key, const char *shape,
                   struct glinfer_error *err);
void gi_tuning_clear(struct gi_tuning *tuning);
size_t gi_tuning_count(const struct gi_tuning *tuning);
// Row i of the tuning; key->kernel and the shape live until the tuning changes.
const char *gi_tuning_at(const struct gi_tuning *tuning, size_t i, struct gi_tuning_key *key);

// Adds the rows of text[0..size) and returns their number. A row is a line "kernel type n_rows
// n_cols extent shape" with single spaces and the type as a number; other lines are skipped. Fails
// (-1) with NO_MEMORY.
long gi_tuning_parse(struct gi_tuning *tuning, const char *text, size_t size,
                     struct glinfer_error *err);
// Returns the text of all rows, owned by the caller, and its size without the final 0; NULL with
// NO_MEMORY.
char *gi_tuning_format(const struct gi_tuning *tuning, size_t *size, struct glinfer_error *err);
