// Reader of SafeTensors: one file, or the files of a folder. Checks everything before use: header
// lengths, types, shapes, offsets, names that appear twice, missing files. Owns the headers and the
// open files. Knows nothing of models.
//   https://github.com/huggingface/safetensors (README.md, "Format")
#pragma once

#include "base/source.h"

// Types of the format: name, bits an element, and whether glinfer reads its elements.
#define GI_SAFETENSORS_TYPE_MAP(X)                                                                 \
    X(F64, 64, false)                                                                              \
    X(F32, 32, true)                                                                               \
    X(F16, 16, true)                                                                               \
    X(BF16, 16, true)                                                                              \
    X(F8_E4M3, 8, false)                                                                           \
    X(F8_E5M2, 8, false)                                                                           \
    X(F8_E8M0, 8, false)                                                                           \
    X(F6_E2M3, 6, false)                                                                           \
    X(F6_E3M2, 6, false)                                                                           \
    X(F4, 4, false)                                                                                \
    X(C64, 64, false)                                                                              \
    X(I64, 64, true)                                                                               \
    X(I32, 32, true)                                                                               \
    X(I16, 16, true)                                                                               \
    X(I8, 8, true)                                                                                 \
    X(U64, 64, true)                                                                               \
    X(U32, 32, true)                                                                               \
    X(U16, 16, true)                                                                               \
    X(U8, 8, true)                                                                                 \
    X(BOOL, 8, true)

enum gi_safetensors_type {
#define GI_SAFETENSORS_ENUM(name, bits, is_read) GI_SAFETENSORS_##name,
    GI_SAFETENSORS_TYPE_MAP(GI_SAFETENSORS_ENUM)
#undef GI_SAFETENSORS_ENUM
};

enum { GI_SAFETENSORS_MAX_DIMS = 8 };

struct gi_safetensor {
    const char *name; // ends in 0
    enum gi_safetensors_type type;
    uint32_t n_dims;                        // 0: a scalar
    uint64_t dims[GI_SAFETENSORS_MAX_DIMS]; // slowest first, as the file has them; 1 past n_dims
    uint64_t n_elements;                    // may be 0
    uint64_t offset, size;                  // bytes, from the start of the file
    uint32_t file;                          // that has its data
};

struct gi_safetensors;

// Opens and checks one file, which lives until close. Fails as gi_source_open does, and with
// BAD_FILE (what, where, found and expected), UNSUPPORTED (an unknown type, more dimensions than
// GI_SAFETENSORS_MAX_DIMS), NO_MEMORY.
struct gi_safetensors *gi_safetensors_open(const struct glinfer_source *source,
                                           struct glinfer_error *err);
// Opens the files of a folder: all that model.safetensors.index.json names, else
// model.safetensors, else every model*.safetensors. Fails as gi_safetensors_open does, and with
// NOT_FOUND (no such file, a missing file of several), BAD_FILE (a tensor that the index names
// twice, or that is not in the file that it names; one name in two files).
struct gi_safetensors *gi_safetensors_open_folder(const char *folder, struct glinfer_error *err);
// Accepts NULL.
void gi_safetensors_close(struct gi_safetensors *files);

// Returns the path of the file or folder.
const char *gi_safetensors_path(const struct gi_safetensors *files);
// Returns the path of the file that has a tensor.
const char *gi_safetensors_file_path(const struct gi_safetensors *files,
                                     const struct gi_safetensor *tensor);

size_t gi_safetensors_count(const struct gi_safetensors *files);
// Tensors are in the order of their names.
const struct gi_safetensor *gi_safetensors_at(const struct gi_safetensors *files, size_t index);
// Returns NULL if there is no tensor of that name.
const struct gi_safetensor *gi_safetensors_find(const struct gi_safetensors *files,
                                                const char *name);
// Returns "F32", "BF16" and the like.
const char *gi_safetensors_type_name(enum gi_safetensors_type type);
// Returns the bits of an element.
uint32_t gi_safetensors_type_bits(enum gi_safetensors_type type);
// Fails with UNSUPPORTED, naming tensor and type, for one whose elements glinfer does not read.
bool gi_safetensors_check_type(const struct gi_safetensors *files,
                               const struct gi_safetensor *tensor, struct glinfer_error *err);
// Reads bytes [offset, offset + size) of a tensor into out. May be called by several threads at a
// time. Fails as gi_source_read does.
bool gi_safetensors_read(const struct gi_safetensors *files, const struct gi_safetensor *tensor,
                         uint64_t offset, size_t size, void *out, struct glinfer_error *err);
