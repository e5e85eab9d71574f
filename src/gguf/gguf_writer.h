// Writes the head of a GGUF file, version 3, in memory: pairs and the tensor directory. A writer
// keeps its first error and ignores the calls after it; gi_gguf_compose and gi_gguf_writer_check
// report it. Tensors lie one after another, each at a multiple of 32 bytes.
#pragma once

#include "gguf/gguf.h"

struct gi_gguf_bytes {
    uint8_t *data;
    size_t count, capacity;
};

struct gi_gguf_writer { // zero-initialised
    struct gi_gguf_bytes pairs, tensors;
    uint64_t n_pairs, n_tensors;
    uint64_t data_size; // bytes of all tensors, with the gaps between them
    struct glinfer_error error;
};

// Frees the memory. Accepts all-zero.
void gi_gguf_writer_finish(struct gi_gguf_writer *w);
// Returns false and fills *err if a call has failed.
bool gi_gguf_writer_check(const struct gi_gguf_writer *w, struct glinfer_error *err);

// Add a pair. Fail with NO_MEMORY. A key that is added twice is refused by gi_gguf_compose.
void gi_gguf_add_u32(struct gi_gguf_writer *w, const char *key, uint32_t value);
void gi_gguf_add_i32(struct gi_gguf_writer *w, const char *key, int32_t value);
void gi_gguf_add_f32(struct gi_gguf_writer *w, const char *key, float value);
void gi_gguf_add_bool(struct gi_gguf_writer *w, const char *key, bool value);
void gi_gguf_add_string(struct gi_gguf_writer *w, const char *key, const char *data, size_t size);
// Add a pair whose value is an array of n elements.
void gi_gguf_add_strings(struct gi_gguf_writer *w, const char *key,
                         const struct gi_gguf_string *strings, size_t n);
void gi_gguf_add_u8s(struct gi_gguf_writer *w, const char *key, const uint8_t *values, size_t n);
void gi_gguf_add_u32s(struct gi_gguf_writer *w, const char *key, const uint32_t *values, size_t n);
void gi_gguf_add_i32s(struct gi_gguf_writer *w, const char *key, const int32_t *values, size_t n);
void gi_gguf_add_f32s(struct gi_gguf_writer *w, const char *key, const float *values, size_t n);
void gi_gguf_add_bools(struct gi_gguf_writer *w, const char *key, const bool *values, size_t n);

// Adds a directory entry; dims[0] is contiguous, entries from n_dims on are not read. Fails with
// BAD_FILE (no size below 2^63, rows that are not whole blocks), NO_MEMORY.
void gi_gguf_add_tensor(struct gi_gguf_writer *w, const char *name, enum gi_ggml_type type,
                        uint32_t n_dims, const uint64_t dims[4]);

// Gives the bytes of tensors of a composed model.
struct gi_gguf_tensor_reader {
    void *user;
    // Reads bytes [offset, offset + size) of a tensor, numbered in the order of gi_gguf_add_tensor.
    // May be called by several threads at a time.
    bool (*read)(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                 struct glinfer_error *err);
    void (*destroy)(void *user); // called once, on close or if composing fails; may be NULL
};

// Opens the file that a writer describes, whose tensors the reader gives; name stands for its path
// in messages. The head is checked as that of any file. The caller keeps the writer and may
// finish it at once. Fails with the writer's error or as gi_gguf_open does.
struct gi_gguf *gi_gguf_compose(const struct gi_gguf_writer *w, const char *name,
                                const struct gi_gguf_tensor_reader *reader,
                                struct glinfer_error *err);
// Returns the head of a composed model, which lives as long as it, up to the first byte of its
// tensors; NULL for a model from a file.
const uint8_t *gi_gguf_composed_head(const struct gi_gguf *gguf, size_t *size);
