#include "base/bytes.h"
#include "gguf/gguf_file.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

static const struct gi_gguf_pair *find_pair(const struct gi_gguf *gguf, const char *key)
{
    size_t index = gi_name_index_find(&gguf->keys, key);
    return index == GI_NO_INDEX ? NULL : &gguf->pairs[index];
}

static bool refuse_kind(const struct gi_gguf *gguf, const struct gi_gguf_pair *pair,
                        const char *expected, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: metadata key %.*s is of kind %s, expected %s", gguf->source.name,
                        GI_SHOW(pair->key), gi_gguf_kind_name(pair->kind), expected);
}

static bool refuse_value(const struct gi_gguf *gguf, const struct gi_gguf_pair *pair,
                         const char *expected, struct glinfer_error *err)
{
    char text[32];
    uint64_t bits;
    bool is_negative;
    if (gi_gguf_pair_integer(pair, &bits, &is_negative)) {
        snprintf(text, sizeof(text), is_negative ? "%" PRId64 : "%" PRIu64, bits);
    } else {
        snprintf(text, sizeof(text), "%g", gi_load_f64(pair->data));
    }
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "%s: metadata key %.*s is %s, expected %s",
                        gguf->source.name, GI_SHOW(pair->key), text, expected);
}

bool gi_gguf_has(const struct gi_gguf *gguf, const char *key)
{
    return find_pair(gguf, key);
}

bool gi_gguf_get_u32(const struct gi_gguf *gguf, const char *key, uint32_t fallback, uint32_t *out,
                     struct glinfer_error *err)
{
    const struct gi_gguf_pair *pair = find_pair(gguf, key);
    uint64_t bits = fallback;
    bool is_negative = false;
    if (pair && !gi_gguf_pair_integer(pair, &bits, &is_negative)) {
        return refuse_kind(gguf, pair, "a whole number", err);
    }
    if (is_negative || bits > UINT32_MAX) {
        return refuse_value(gguf, pair, "0 to 4294967295", err);
    }
    *out = (uint32_t)bits;
    return true;
}

bool gi_gguf_get_f32(const struct gi_gguf *gguf, const char *key, float fallback, float *out,
                     struct glinfer_error *err)
{
    const struct gi_gguf_pair *pair = find_pair(gguf, key);
    *out = fallback;
    if (!pair) {
        return true;
    }
    if (pair->kind == GI_GGUF_KIND_F32) {
        *out = gi_load_f32(pair->data);
        return true;
    }
    if (pair->kind != GI_GGUF_KIND_F64) {
        return refuse_kind(gguf, pair, "f32", err);
    }
    double value = gi_load_f64(pair->data);
    if (value > (double)FLT_MAX || value < -(double)FLT_MAX) {
        return refuse_value(gguf, pair, "a number that fits f32", err);
    }
    *out = (float)value;
    return true;
}

// Finds a pair of that kind; *pair is NULL if the key is absent. Fails if it is of another kind.
static bool find_kind(const struct gi_gguf *gguf, const char *key, enum gi_gguf_kind kind,
                      const struct gi_gguf_pair **pair, struct glinfer_error *err)
{
    *pair = find_pair(gguf, key);
    return !*pair || (*pair)->kind == kind ||
           refuse_kind(gguf, *pair, gi_gguf_kind_name(kind), err);
}

bool gi_gguf_get_bool(const struct gi_gguf *gguf, const char *key, bool fallback, bool *out,
                      struct glinfer_error *err)
{
    const struct gi_gguf_pair *pair;
    const bool ok = find_kind(gguf, key, GI_GGUF_KIND_BOOL, &pair, err);
    *out = ok && pair ? pair->data[0] != 0 : fallback;
    return ok;
}

bool gi_gguf_get_string(const struct gi_gguf *gguf, const char *key, struct gi_gguf_string *out,
                        struct glinfer_error *err)
{
    const struct gi_gguf_pair *pair;
    const bool ok = find_kind(gguf, key, GI_GGUF_KIND_STRING, &pair, err);
    *out = ok && pair ? pair->string : (struct gi_gguf_string){0};
    return ok;
}

static bool is_int32(enum gi_gguf_kind kind)
{
    return kind == GI_GGUF_KIND_I32 || kind == GI_GGUF_KIND_U32;
}

bool gi_gguf_get_array(const struct gi_gguf *gguf, const char *key, enum gi_gguf_kind kind,
                       struct gi_gguf_array *out, struct glinfer_error *err)
{
    const struct gi_gguf_pair *pair;
    *out = (struct gi_gguf_array){.kind = kind};
    if (!find_kind(gguf, key, GI_GGUF_KIND_ARRAY, &pair, err)) {
        return false;
    }
    const enum gi_gguf_kind found = pair ? pair->array.kind : kind;
    if (found != kind && !(is_int32(found) && is_int32(kind))) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: metadata key %.*s is an array of %s, expected an array of %s",
                            gguf->source.name, GI_SHOW(pair->key), gi_gguf_kind_name(found),
                            gi_gguf_kind_name(kind));
    }
    *out = pair ? pair->array : *out;
    return true;
}

float gi_gguf_array_f32(const struct gi_gguf_array *array, uint64_t i)
{
    return gi_load_f32(array->data + 4 * i);
}

int32_t gi_gguf_array_i32(const struct gi_gguf_array *array, uint64_t i)
{
    uint32_t bits = gi_load_u32(array->data + 4 * i);
    if (array->kind == GI_GGUF_KIND_U32 && bits > INT32_MAX) {
        return INT32_MAX;
    }
    return (int32_t)bits;
}
