#include "gguf/gguf_pair.h"

#include "base/array.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_KEY_SIZE 65535u // as the format says

// Kinds in the order of enum gi_gguf_kind.
static const struct {
    const char *name;
    uint32_t size; // bytes; 0: varies
} kinds[] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

const char *gi_gguf_kind_name(enum gi_gguf_kind kind)
{
    return kinds[kind].name;
}

static bool read_kind(struct gi_gguf_reader *r, struct gi_gguf_string key, enum gi_gguf_kind *kind)
{
    uint64_t start = r->pos;
    uint32_t number;
    if (!gi_gguf_reader_u32(r, &number, "the kind of a metadata value")) {
        return false;
    }
    if (number >= sizeof(kinds) / sizeof(kinds[0])) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: metadata key %.*s has a value of kind %" PRIu32 " at byte %" PRIu64
                            ", expected 0 to 12: the file is damaged",
                            r->path, GI_SHOW(key), number, start);
    }
    *kind = (enum gi_gguf_kind)number;
    return true;
}

static bool check_bools(const struct gi_gguf_reader *r, struct gi_gguf_string key,
                        const uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (data[i] > 1) {
            return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                                "%s: metadata key %.*s holds %u, expected a bool, 0 or 1: "
                                "the file is damaged",
                                r->path, GI_SHOW(key), data[i]);
        }
    }
    return true;
}

static bool read_strings(struct gi_gguf_array *array, struct gi_gguf_reader *r)
{
    struct gi_gguf_string *strings =
        gi_array_zeroed(array->count, sizeof(*strings), "metadata strings", r->err);
    if (!strings) {
        return false;
    }
    array->strings = strings;
    for (uint64_t i = 0; i < array->count; i++) {
        if (!gi_gguf_reader_string(r, UINT64_MAX, &strings[i], "a string of a metadata array")) {
            return false;
        }
    }
    return true;
}

static bool read_array(struct gi_gguf_pair *pair, struct gi_gguf_reader *r)
{
    struct gi_gguf_array *array = &pair->array;
    uint64_t start = r->pos;
    if (!read_kind(r, pair->key, &array->kind) ||
        !gi_gguf_reader_u64(r, &array->count, "the length of a metadata array")) {
        return false;
    }
    if (array->kind == GI_GGUF_KIND_ARRAY) {
        return gi_error_set(r->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: metadata key %.*s at byte %" PRIu64
                            " is an array of arrays, which is not supported",
                            r->path, GI_SHOW(pair->key), start);
    }
    bool is_strings = array->kind == GI_GGUF_KIND_STRING;
    uint32_t min_size = is_strings ? sizeof(uint64_t) : kinds[array->kind].size;
    if (array->count > gi_gguf_reader_left(r) / min_size) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: metadata key %.*s at byte %" PRIu64 " is an array of %" PRIu64
                            " values of type %s, more than the %" PRIu64
                            " bytes left in the file can hold: it is "
                            "damaged or was not downloaded completely",
                            r->path, GI_SHOW(pair->key), start, array->count,
                            kinds[array->kind].name, gi_gguf_reader_left(r));
    }
    if (is_strings) {
        return read_strings(array, r);
    }
    array->data = gi_gguf_reader_bytes(r, array->count * min_size, "a metadata array");
    if (!array->data) {
        return false;
    }
    return array->kind != GI_GGUF_KIND_BOOL || check_bools(r, pair->key, array->data, array->count);
}

static bool read_value(struct gi_gguf_pair *pair, struct gi_gguf_reader *r)
{
    if (pair->kind == GI_GGUF_KIND_ARRAY) {
        return read_array(pair, r);
    }
    if (pair->kind == GI_GGUF_KIND_STRING) {
        return gi_gguf_reader_string(r, UINT64_MAX, &pair->string, "a metadata string");
    }
    pair->data = gi_gguf_reader_bytes(r, kinds[pair->kind].size, "a metadata value");
    if (!pair->data) {
        return false;
    }
    return pair->kind != GI_GGUF_KIND_BOOL || check_bools(r, pair->key, pair->data, 1);
}

bool gi_gguf_pair_init(struct gi_gguf_pair *pair, struct gi_gguf_reader *r)
{
    uint64_t start = r->pos;
    if (!gi_gguf_reader_string(r, MAX_KEY_SIZE, &pair->key, "a metadata key")) {
        return false;
    }
    if (pair->key.size == 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: the metadata key at byte %" PRIu64
                            " is empty: the file is damaged",
                            r->path, start);
    }
    return read_kind(r, pair->key, &pair->kind) && read_value(pair, r);
}

void gi_gguf_pair_finish(struct gi_gguf_pair *pair)
{
    free((void *)(uintptr_t)pair->array.strings);
    *pair = (struct gi_gguf_pair){0};
}

bool gi_gguf_pair_integer(const struct gi_gguf_pair *pair, uint64_t *bits, bool *is_negative)
{
    const uint8_t *p = pair->data;
    int64_t value;
    switch (pair->kind) {
    case GI_GGUF_KIND_U8:
        value = p[0];
        break;
    case GI_GGUF_KIND_I8:
        value = (int8_t)p[0];
        break;
    case GI_GGUF_KIND_U16:
        value = gi_load_u16(p);
        break;
    case GI_GGUF_KIND_I16:
        value = (int16_t)gi_load_u16(p);
        break;
    case GI_GGUF_KIND_U32:
        value = gi_load_u32(p);
        break;
    case GI_GGUF_KIND_I32:
        value = (int32_t)gi_load_u32(p);
        break;
    case GI_GGUF_KIND_U64:
    case GI_GGUF_KIND_I64:
        value = (int64_t)gi_load_u64(p);
        break;
    default:
        return false;
    }
    *bits = (uint64_t)value;
    *is_negative = value < 0 && pair->kind != GI_GGUF_KIND_U64;
    return true;
}
