#include "tests/unit/gguf/gguf_builder.h"

#include <stdlib.h>

void gguf_finish(struct gguf_builder *b)
{
    free(b->data);
    *b = (struct gguf_builder){0};
}

void gguf_bytes(struct gguf_builder *b, const void *bytes, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->data = realloc(b->data, b->capacity);
        if (!b->data) {
            abort();
        }
    }
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

void gguf_u8(struct gguf_builder *b, uint8_t value)
{
    gguf_bytes(b, &value, 1);
}

void gguf_u16(struct gguf_builder *b, uint16_t value)
{
    gguf_u8(b, (uint8_t)value);
    gguf_u8(b, (uint8_t)(value >> 8));
}

void gguf_u32(struct gguf_builder *b, uint32_t value)
{
    gguf_u16(b, (uint16_t)value);
    gguf_u16(b, (uint16_t)(value >> 16));
}

void gguf_u64(struct gguf_builder *b, uint64_t value)
{
    gguf_u32(b, (uint32_t)value);
    gguf_u32(b, (uint32_t)(value >> 32));
}

void gguf_f32(struct gguf_builder *b, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    gguf_u32(b, bits);
}

void gguf_f64(struct gguf_builder *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    gguf_u64(b, bits);
}

void gguf_string(struct gguf_builder *b, const char *text)
{
    gguf_u64(b, strlen(text));
    gguf_bytes(b, text, strlen(text));
}

void gguf_pad(struct gguf_builder *b, size_t alignment)
{
    while (b->size % alignment) {
        gguf_u8(b, 0);
    }
}

void gguf_header(struct gguf_builder *b, uint64_t n_tensors, uint64_t n_pairs)
{
    gguf_bytes(b, "GGUF", 4);
    gguf_u32(b, 3);
    gguf_u64(b, n_tensors);
    gguf_u64(b, n_pairs);
}

void gguf_key(struct gguf_builder *b, const char *key, uint32_t kind)
{
    gguf_string(b, key);
    gguf_u32(b, kind);
}

void gguf_pair_u32(struct gguf_builder *b, const char *key, uint32_t value)
{
    gguf_key(b, key, GI_GGUF_KIND_U32);
    gguf_u32(b, value);
}

void gguf_pair_string(struct gguf_builder *b, const char *key, const char *value)
{
    gguf_key(b, key, GI_GGUF_KIND_STRING);
    gguf_string(b, value);
}

void gguf_array(struct gguf_builder *b, const char *key, uint32_t kind, uint64_t count)
{
    gguf_key(b, key, GI_GGUF_KIND_ARRAY);
    gguf_u32(b, kind);
    gguf_u64(b, count);
}

void gguf_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, const uint64_t *dims,
                 uint32_t type, uint64_t offset)
{
    gguf_string(b, name);
    gguf_u32(b, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        gguf_u64(b, dims[i]);
    }
    gguf_u32(b, type);
    gguf_u64(b, offset);
}

static void put_scalars(struct gguf_builder *b)
{
    gguf_key(b, "t.u8", GI_GGUF_KIND_U8);
    gguf_u8(b, 200);
    gguf_key(b, "t.i8", GI_GGUF_KIND_I8);
    gguf_u8(b, (uint8_t)-5);
    gguf_key(b, "t.u16", GI_GGUF_KIND_U16);
    gguf_u16(b, 60000);
    gguf_key(b, "t.i16", GI_GGUF_KIND_I16);
    gguf_u16(b, 12345);
    gguf_pair_u32(b, "t.u32", 4000000000u);
    gguf_key(b, "t.i32", GI_GGUF_KIND_I32);
    gguf_u32(b, (uint32_t)-7);
    gguf_key(b, "t.u64", GI_GGUF_KIND_U64);
    gguf_u64(b, UINT64_MAX);
    gguf_key(b, "t.i64", GI_GGUF_KIND_I64);
    gguf_u64(b, 77);
    gguf_key(b, "t.f32", GI_GGUF_KIND_F32);
    gguf_f32(b, 0.5f);
    gguf_key(b, "t.f64", GI_GGUF_KIND_F64);
    gguf_f64(b, -0.25);
    gguf_key(b, "t.bool", GI_GGUF_KIND_BOOL);
    gguf_u8(b, 1);
    gguf_pair_string(b, "t.string", "text\033[2J");
}

static void put_arrays(struct gguf_builder *b)
{
    gguf_array(b, "t.strings", GI_GGUF_KIND_STRING, 3);
    gguf_string(b, "one");
    gguf_string(b, "");
    gguf_string(b, "three");
    gguf_array(b, "t.i32s", GI_GGUF_KIND_I32, 2);
    gguf_u32(b, (uint32_t)-1);
    gguf_u32(b, 2);
    gguf_array(b, "t.u32s", GI_GGUF_KIND_U32, 2);
    gguf_u32(b, 3);
    gguf_u32(b, UINT32_MAX);
    gguf_array(b, "t.f32s", GI_GGUF_KIND_F32, 1);
    gguf_f32(b, 1.5f);
    gguf_array(b, "t.bools", GI_GGUF_KIND_BOOL, 2);
    gguf_u8(b, 0);
    gguf_u8(b, 1);
    gguf_array(b, "t.empty", GI_GGUF_KIND_STRING, 0);
}

void gguf_sound_file(struct gguf_builder *b)
{
    gguf_header(b, 3, 18);
    put_scalars(b);
    put_arrays(b);
    gguf_tensor(b, "norm", 1, (uint64_t[]){5}, GI_GGML_TYPE_F32, 0);
    gguf_tensor(b, "cube", 3, (uint64_t[]){2, 3, 4}, GI_GGML_TYPE_F16, 32);
    gguf_tensor(b, "matrix", 2, (uint64_t[]){64, 2}, GI_GGML_TYPE_Q4_0, 96);
    gguf_pad(b, 32);
    for (uint32_t i = 0; i < 96 + 4 * 18; i++) {
        gguf_u8(b, (uint8_t)i);
    }
}
