#include "gguf/gguf_writer.h"

#include "base/array.h"
#include "base/bytes.h"
#include "gguf/gguf_file.h"

#include <assert.h>
#include <stdlib.h>

#define ALIGNMENT 32u // the format's default, which needs no key

static bool has_failed(const struct gi_gguf_writer *w)
{
    return w->error.status != GLINFER_STATUS_OK;
}

void gi_gguf_writer_finish(struct gi_gguf_writer *w)
{
    free(w->pairs.data);
    free(w->tensors.data);
    *w = (struct gi_gguf_writer){0};
}

bool gi_gguf_writer_check(const struct gi_gguf_writer *w, struct glinfer_error *err)
{
    return !has_failed(w) || gi_error_pass(err, &w->error);
}

//-- bytes ---------------------------------------------------------------------------------------

static void write_bytes(struct gi_gguf_writer *w, struct gi_gguf_bytes *to, const void *data,
                        size_t size)
{
    if (!has_failed(w) &&
        GI_ARRAY_RESERVE(to, to->count + size, "the head of a GGUF file", &w->error) && size > 0) {
        memcpy(to->data + to->count, data, size);
        to->count += size;
    }
}

static void write_u32(struct gi_gguf_writer *w, struct gi_gguf_bytes *to, uint32_t value)
{
    uint8_t bytes[4];
    gi_store_u32(bytes, value);
    write_bytes(w, to, bytes, sizeof(bytes));
}

static void write_u64(struct gi_gguf_writer *w, struct gi_gguf_bytes *to, uint64_t value)
{
    write_u32(w, to, (uint32_t)value);
    write_u32(w, to, (uint32_t)(value >> 32));
}

static void write_text(struct gi_gguf_writer *w, struct gi_gguf_bytes *to, const char *data,
                       size_t size)
{
    write_u64(w, to, size);
    write_bytes(w, to, data, size);
}

//-- pairs ---------------------------------------------------------------------------------------

static void write_key(struct gi_gguf_writer *w, const char *key, enum gi_gguf_kind kind)
{
    write_text(w, &w->pairs, key, strlen(key));
    write_u32(w, &w->pairs, kind);
    w->n_pairs++;
}

static void write_array(struct gi_gguf_writer *w, const char *key, enum gi_gguf_kind kind, size_t n)
{
    write_key(w, key, GI_GGUF_KIND_ARRAY);
    write_u32(w, &w->pairs, kind);
    write_u64(w, &w->pairs, n);
}

static uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

void gi_gguf_add_u32(struct gi_gguf_writer *w, const char *key, uint32_t value)
{
    write_key(w, key, GI_GGUF_KIND_U32);
    write_u32(w, &w->pairs, value);
}

void gi_gguf_add_i32(struct gi_gguf_writer *w, const char *key, int32_t value)
{
    write_key(w, key, GI_GGUF_KIND_I32);
    write_u32(w, &w->pairs, (uint32_t)value);
}

void gi_gguf_add_f32(struct gi_gguf_writer *w, const char *key, float value)
{
    write_key(w, key, GI_GGUF_KIND_F32);
    write_u32(w, &w->pairs, f32_bits(value));
}

void gi_gguf_add_bool(struct gi_gguf_writer *w, const char *key, bool value)
{
    const uint8_t byte = value;
    write_key(w, key, GI_GGUF_KIND_BOOL);
    write_bytes(w, &w->pairs, &byte, 1);
}

void gi_gguf_add_string(struct gi_gguf_writer *w, const char *key, const char *data, size_t size)
{
    write_key(w, key, GI_GGUF_KIND_STRING);
    write_text(w, &w->pairs, data, size);
}

void gi_gguf_add_strings(struct gi_gguf_writer *w, const char *key,
                         const struct gi_gguf_string *strings, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_STRING, n);
    for (size_t i = 0; i < n; i++) {
        write_text(w, &w->pairs, strings[i].data, strings[i].size);
    }
}

void gi_gguf_add_u8s(struct gi_gguf_writer *w, const char *key, const uint8_t *values, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_U8, n);
    write_bytes(w, &w->pairs, values, n);
}

void gi_gguf_add_u32s(struct gi_gguf_writer *w, const char *key, const uint32_t *values, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_U32, n);
    for (size_t i = 0; i < n; i++) {
        write_u32(w, &w->pairs, values[i]);
    }
}

void gi_gguf_add_i32s(struct gi_gguf_writer *w, const char *key, const int32_t *values, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_I32, n);
    for (size_t i = 0; i < n; i++) {
        write_u32(w, &w->pairs, (uint32_t)values[i]);
    }
}

void gi_gguf_add_f32s(struct gi_gguf_writer *w, const char *key, const float *values, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_F32, n);
    for (size_t i = 0; i < n; i++) {
        write_u32(w, &w->pairs, f32_bits(values[i]));
    }
}

void gi_gguf_add_bools(struct gi_gguf_writer *w, const char *key, const bool *values, size_t n)
{
    write_array(w, key, GI_GGUF_KIND_BOOL, n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = values[i];
        write_bytes(w, &w->pairs, &byte, 1);
    }
}

//-- tensors -------------------------------------------------------------------------------------

// Finds the bytes of a tensor as the reader of files will.
static bool find_size(struct gi_gguf_writer *w, const char *name, enum gi_ggml_type type,
                      uint32_t n_dims, const uint64_t dims[4], uint64_t *size)
{
    struct gi_gguf_tensor t = {.name = {name, strlen(name)}, .n_dims = n_dims};
    const struct gi_gguf_reader r = {.path = "a new GGUF file", .err = &w->error};
    memcpy(t.dims, dims, n_dims * sizeof(dims[0]));
    if (!gi_gguf_tensor_size(&t, type, &r)) {
        return false;
    }
    *size = t.size;
    return true;
}

void gi_gguf_add_tensor(struct gi_gguf_writer *w, const char *name, enum gi_ggml_type type,
                        uint32_t n_dims, const uint64_t dims[4])
{
    uint64_t size = 0;
    assert(n_dims >= 1 && n_dims <= 4);
    if (has_failed(w) || !find_size(w, name, type, n_dims, dims, &size)) {
        return;
    }
    write_text(w, &w->tensors, name, strlen(name));
    write_u32(w, &w->tensors, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        write_u64(w, &w->tensors, dims[i]);
    }
    write_u32(w, &w->tensors, type);
    write_u64(w, &w->tensors, w->data_size);
    w->n_tensors++;
    const uint64_t padding = (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
    if (size + padding > INT64_MAX - w->data_size) {
        gi_error_set(&w->error, GLINFER_STATUS_BAD_FILE, "invalid tensor %s: more than 2^63 bytes",
                     name);
        return;
    }
    w->data_size += size + padding;
}

//-- composed models -----------------------------------------------------------------------------

// Joins header, pairs and directory. Returns NULL without memory.
static struct gi_gguf_block *join_head(const struct gi_gguf_writer *w, struct glinfer_error *err)
{
    struct gi_gguf_writer head = {0};
    write_bytes(&head, &head.pairs, "GGUF", 4);
    write_u32(&head, &head.pairs, 3);
    write_u64(&head, &head.pairs, w->n_tensors);
    write_u64(&head, &head.pairs, w->n_pairs);
    const size_t size = head.pairs.count + w->pairs.count + w->tensors.count;
    const size_t padded = size + (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
    struct gi_gguf_block *block = NULL;
    if (gi_gguf_writer_check(&head, err)) {
        block = gi_array_zeroed(1, sizeof(*block) + padded, "the head of a GGUF file", err);
    }
    if (block) {
        uint8_t *to = mempcpy(block->bytes, head.pairs.data, head.pairs.count);
        to = w->pairs.count > 0 ? mempcpy(to, w->pairs.data, w->pairs.count) : to;
        if (w->tensors.count > 0) {
            memcpy(to, w->tensors.data, w->tensors.count);
        }
        block->size = padded;
    }
    gi_gguf_writer_finish(&head);
    return block;
}

// Makes the source of a model: the head in memory, after which the tensors would lie.
static bool open_head(struct gi_gguf *gguf, const struct gi_gguf_writer *w, const char *name,
                      struct glinfer_error *err)
{
    gguf->blocks = join_head(w, err);
    if (!gguf->blocks ||
        !gi_source_open(&gguf->source,
                        GI_SOURCE_MEMORY(gguf->blocks->bytes, gguf->blocks->size, name), err)) {
        return false;
    }
    gguf->source.size += w->data_size;
    return gi_gguf_read_head(gguf, gguf->blocks->size, err);
}

struct gi_gguf *gi_gguf_compose(const struct gi_gguf_writer *w, const char *name,
                                const struct gi_gguf_tensor_reader *reader,
                                struct glinfer_error *err)
{
    struct gi_gguf *gguf = NULL;
    if (gi_gguf_writer_check(w, err)) {
        gguf = gi_array_zeroed(1, sizeof(*gguf), "a GGUF file", err);
    }
    if (!gguf) {
        if (reader->destroy) {
            reader->destroy(reader->user);
        }
        return NULL;
    }
    gguf->composed = *reader;
    if (!open_head(gguf, w, name, err)) {
        gi_gguf_close(gguf);
        return NULL;
    }
    return gguf;
}

const uint8_t *gi_gguf_composed_head(const struct gi_gguf *gguf, size_t *size)
{
    *size = gguf->composed.read ? (size_t)gguf->blocks->size : 0;
    return gguf->composed.read ? gguf->blocks->bytes : NULL;
}
