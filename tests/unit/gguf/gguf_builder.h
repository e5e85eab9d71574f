// Builds GGUF files in memory for tests, field by field, so that a test can write any of them
// wrong.
#pragma once

#include "gguf/gguf.h"

struct gguf_builder { // zero-initialised
    uint8_t *data;
    size_t size, capacity;
};

void gguf_finish(struct gguf_builder *b);
// A builder, and a file, that end with their scope.
#define BUILDER __attribute__((cleanup(gguf_finish))) struct gguf_builder
#define GGUF    __attribute__((cleanup(gguf_close_at))) struct gi_gguf
static inline void gguf_close_at(struct gi_gguf **gguf)
{
    gi_gguf_close(*gguf);
}

void gguf_bytes(struct gguf_builder *b, const void *bytes, size_t size);
void gguf_u8(struct gguf_builder *b, uint8_t value);
void gguf_u16(struct gguf_builder *b, uint16_t value);
void gguf_u32(struct gguf_builder *b, uint32_t value);
void gguf_u64(struct gguf_builder *b, uint64_t value);
void gguf_f32(struct gguf_builder *b, float value);
void gguf_f64(struct gguf_builder *b, double value);
// Length and bytes.
void gguf_string(struct gguf_builder *b, const char *text);
// Zeros up to a multiple of alignment.
void gguf_pad(struct gguf_builder *b, size_t alignment);

// Magic, version 3 and the two counts.
void gguf_header(struct gguf_builder *b, uint64_t n_tensors, uint64_t n_pairs);
// Key and kind; the value is to follow.
void gguf_key(struct gguf_builder *b, const char *key, uint32_t kind);
void gguf_pair_u32(struct gguf_builder *b, const char *key, uint32_t value);
void gguf_pair_string(struct gguf_builder *b, const char *key, const char *value);
// Key, kind ARRAY, kind of the elements and their count; the elements are to follow.
void gguf_array(struct gguf_builder *b, const char *key, uint32_t kind, uint64_t count);
// A directory entry.
void gguf_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, const uint64_t *dims,
                 uint32_t type, uint64_t offset);

// A sound file with a value of every kind and tensors of three types; its last byte is the last
// one of the last tensor.
void gguf_sound_file(struct gguf_builder *b);
