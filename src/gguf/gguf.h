// Reader of GGUF files, versions 2 and 3, little-endian, and of whisper.cpp's files (ggml/):
// header, metadata, tensor directory. Checks every count, length, type and offset before use, so
// that what it hands out may be used without further checks. Owns the directory, which strings
// point into. Knows the formats and nothing of models.
//   https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include "base/source.h"
#include "gguf/ggml_type.h"

#include <stdint.h>

struct gi_gguf;

enum gi_gguf_kind {
    GI_GGUF_KIND_U8 = 0,
    GI_GGUF_KIND_I8 = 1,
    GI_GGUF_KIND_U16 = 2,
    GI_GGUF_KIND_I16 = 3,
    GI_GGUF_KIND_U32 = 4,
    GI_GGUF_KIND_I32 = 5,
    GI_GGUF_KIND_F32 = 6,
    GI_GGUF_KIND_BOOL = 7,
    GI_GGUF_KIND_STRING = 8,
    GI_GGUF_KIND_ARRAY = 9,
    GI_GGUF_KIND_U64 = 10,
    GI_GGUF_KIND_I64 = 11,
    GI_GGUF_KIND_F64 = 12,
};

// Bytes of the file; not ending in 0, any content.
struct gi_gguf_string {
    const char *data;
    size_t size;
};

struct gi_gguf_tensor {
    struct gi_gguf_string name;
    const struct gi_ggml_type_info *type;
    uint32_t n_dims;  // 1..4
    uint64_t dims[4]; // dims[0] is contiguous (columns); 1 past n_dims
    uint64_t n_elements;
    uint64_t size;        // bytes
    uint64_t file_offset; // of its data, from the start of the file
    uint32_t file;        // that has its data; 0: the first
};

// Opens and checks a source, which lives until close. Fails as gi_source_open does, and with IO,
// BAD_FILE (what, where in the file, found and expected), UNSUPPORTED (version, big-endian, a
// tensor type that is not in ggml_type.h), NO_MEMORY. A path may be that of any piece of a model in
// several files: the others are opened beside it (gguf_split.c), and NOT_FOUND names one that is
// missing.
struct gi_gguf *gi_gguf_open(const struct glinfer_source *source, struct glinfer_error *err);
// Accepts NULL.
void gi_gguf_close(struct gi_gguf *gguf);

// Returns the name of the file in messages; of a model in several files, of the first.
const char *gi_gguf_path(const struct gi_gguf *gguf);
// Returns the bytes of all files of the model.
uint64_t gi_gguf_file_size(const struct gi_gguf *gguf);

size_t gi_gguf_tensor_count(const struct gi_gguf *gguf);
const struct gi_gguf_tensor *gi_gguf_tensor_at(const struct gi_gguf *gguf, size_t index);
// Returns NULL if there is no tensor of that name.
const struct gi_gguf_tensor *gi_gguf_tensor_find(const struct gi_gguf *gguf, const char *name);
// Reads bytes [offset, offset + size) of this tensor into out. Fails as gi_source_read does.
bool gi_gguf_tensor_read(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                         uint64_t offset, size_t size, void *out, struct glinfer_error *err);

// Computes what gi_gguf_tensor_read gives.
struct gi_gguf_filter {
    void *user;
    // Reads as gi_gguf_tensor_read, from what gi_gguf_tensor_read_unfiltered gives.
    bool (*read)(void *user, const struct gi_gguf_tensor *tensor, uint64_t offset, size_t size,
                 void *out, struct glinfer_error *err);
    void (*destroy)(void *user); // called on close
};
// Reads all tensors through a filter from now on. A model takes one.
void gi_gguf_set_filter(struct gi_gguf *gguf, const struct gi_gguf_filter *filter);
// Reads as gi_gguf_tensor_read does without a filter.
bool gi_gguf_tensor_read_unfiltered(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                                    uint64_t offset, size_t size, void *out,
                                    struct glinfer_error *err);

bool gi_gguf_has(const struct gi_gguf *gguf, const char *key);
// Typed look-ups. If the key is absent they set *out to fallback and succeed; a value of another
// kind, or one that does not fit, is BAD_FILE and names the key. Integers of any width and sign
// convert where the value fits; f32 accepts f64.
bool gi_gguf_get_u32(const struct gi_gguf *gguf, const char *key, uint32_t fallback, uint32_t *out,
                     struct glinfer_error *err);
bool gi_gguf_get_f32(const struct gi_gguf *gguf, const char *key, float fallback, float *out,
                     struct glinfer_error *err);
bool gi_gguf_get_bool(const struct gi_gguf *gguf, const char *key, bool fallback, bool *out,
                      struct glinfer_error *err);
// An absent string has data NULL and size 0.
bool gi_gguf_get_string(const struct gi_gguf *gguf, const char *key, struct gi_gguf_string *out,
                        struct glinfer_error *err);

// A metadata array; an absent one has count 0.
struct gi_gguf_array {
    enum gi_gguf_kind kind; // of the elements; never ARRAY
    uint64_t count;
    const uint8_t *data; // elements as in the file, unaligned; NULL when kind is STRING
    const struct gi_gguf_string *strings; // count of them when kind is STRING, owned by the gguf
};
// Takes an array whose elements are of kind; I32 and U32 stand for each other.
bool gi_gguf_get_array(const struct gi_gguf *gguf, const char *key, enum gi_gguf_kind kind,
                       struct gi_gguf_array *out, struct glinfer_error *err);
// Element i of an array of kind F32; of kind I32 or U32, where more than INT32_MAX comes out as
// that.
float gi_gguf_array_f32(const struct gi_gguf_array *array, uint64_t i);
int32_t gi_gguf_array_i32(const struct gi_gguf_array *array, uint64_t i);
