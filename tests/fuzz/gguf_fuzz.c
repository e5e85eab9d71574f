// The reader of GGUF and whisper.cpp files on any bytes: an accepted file is used to the last
// byte, a refused one comes with a status and a sentence.
#include "gguf/gguf_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_KEY 256

static volatile uint8_t sink; // keeps the reads

static void touch(const void *data, uint64_t size)
{
    const uint8_t *bytes = data;
    uint8_t sum = 0;
    for (uint64_t i = 0; i < size; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    sink = sum;
}

static void check_error(bool is_done, const struct glinfer_error *err)
{
    FUZZ_CHECK(is_done || (err->status == GLINFER_STATUS_BAD_FILE && err->message[0]));
}

static void touch_array(const struct gi_gguf_array *array)
{
    for (uint64_t i = 0; i < array->count; i++) {
        if (array->kind == GI_GGUF_KIND_STRING) {
            touch(array->strings[i].data, array->strings[i].size);
        } else if (array->kind == GI_GGUF_KIND_F32) {
            float value = gi_gguf_array_f32(array, i);
            touch(&value, sizeof(value));
        } else if (array->kind == GI_GGUF_KIND_I32 || array->kind == GI_GGUF_KIND_U32) {
            int32_t value = gi_gguf_array_i32(array, i);
            touch(&value, sizeof(value));
        } else {
            touch(array->data + i, 1);
        }
    }
}

static void get_arrays(const struct gi_gguf *gguf, const char *key)
{
    for (int kind = GI_GGUF_KIND_U8; kind <= GI_GGUF_KIND_F64; kind++) {
        struct glinfer_error err;
        struct gi_gguf_array array;
        bool is_done = gi_gguf_get_array(gguf, key, (enum gi_gguf_kind)kind, &array, &err);
        check_error(is_done, &err);
        if (is_done) {
            touch_array(&array);
        }
    }
}

static void get_scalars(const struct gi_gguf *gguf, const char *key)
{
    struct glinfer_error err;
    struct gi_gguf_string string;
    uint32_t u32;
    float f32;
    bool boolean;
    check_error(gi_gguf_get_u32(gguf, key, 0, &u32, &err), &err);
    check_error(gi_gguf_get_f32(gguf, key, 0, &f32, &err), &err);
    check_error(gi_gguf_get_bool(gguf, key, false, &boolean, &err), &err);
    bool is_done = gi_gguf_get_string(gguf, key, &string, &err);
    check_error(is_done, &err);
    if (is_done) {
        touch(string.data, string.size);
    }
}

static void get_key(const struct gi_gguf *gguf, struct gi_gguf_string key)
{
    char name[MAX_KEY];
    if (key.size >= sizeof(name) || memchr(key.data, 0, key.size)) {
        return; // cannot be asked for
    }
    memcpy(name, key.data, key.size);
    name[key.size] = 0;
    FUZZ_CHECK(gi_gguf_has(gguf, name));
    get_scalars(gguf, name);
    get_arrays(gguf, name);
}

static void check_tensor(const struct gi_gguf *gguf, const struct gi_gguf_tensor *t)
{
    uint64_t n = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
    FUZZ_CHECK(t->n_elements == n && n > 0);
    FUZZ_CHECK(t->size == n / t->type->block_size * t->type->block_bytes);
    FUZZ_CHECK(t->file_offset + t->size <= gi_gguf_file_size(gguf));
    touch(t->name.data, t->name.size);
    uint8_t *data = malloc(t->size);
    FUZZ_CHECK(data && gi_gguf_tensor_read(gguf, t, 0, t->size, data, NULL));
    touch(data, t->size);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glinfer_error err = {0};
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_MEMORY(data, size, "fuzz.gguf"), &err);
    if (!gguf) {
        FUZZ_CHECK(err.status == GLINFER_STATUS_BAD_FILE ||
                   err.status == GLINFER_STATUS_UNSUPPORTED);
        FUZZ_CHECK(strncmp(err.message, "fuzz.gguf: ", 11) == 0);
        return 0;
    }
    for (size_t i = 0; i < gguf->n_pairs; i++) {
        get_key(gguf, gguf->pairs[i].key);
    }
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        check_tensor(gguf, gi_gguf_tensor_at(gguf, i));
    }
    gi_gguf_close(gguf);
    return 0;
}
