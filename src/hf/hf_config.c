// Keys of config.json and pairs of the head.
#include "hf/hf_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gi_hf_ok(const struct gi_hf_build *b)
{
    return b->out->error.status == GLINFER_STATUS_OK;
}

void gi_hf_fail(struct gi_hf_build *b, enum glinfer_status status, const char *format, ...)
{
    char text[800];
    va_list args;
    if (!gi_hf_ok(b)) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gi_error_set(&b->out->error, status, "%s: %s", b->folder, text);
}

cJSON *gi_hf_read_optional(struct gi_hf_build *b, const char *name, int type)
{
    char *path = gi_hf_path(b->folder, name, &b->out->error);
    cJSON *json =
        path && gi_hf_is_listed(path) ? gi_hf_json_read(path, type, &b->out->error) : NULL;
    free(path);
    return json;
}

//-- look-ups --------------------------------------------------------------------------------------

// Returns the value of one key, whose objects are separated by dots.
static const cJSON *find_path(const cJSON *object, const char *key, size_t size)
{
    char name[64];
    while (size > 0 && cJSON_IsObject(object)) {
        const char *dot = memchr(key, '.', size);
        const size_t n = dot ? (size_t)(dot - key) : size;
        if (n >= sizeof(name)) {
            return NULL;
        }
        memcpy(name, key, n);
        name[n] = 0;
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        size -= dot ? n + 1 : n;
        key += dot ? n + 1 : n;
    }
    return size == 0 && !cJSON_IsNull(object) ? object : NULL;
}

// Returns the value of the first of several keys, separated by '|', in one of two objects; *key is
// then that one, or the last.
static const cJSON *find_first(const cJSON *object, const cJSON *other, const char **key)
{
    for (;;) {
        const size_t size = strcspn(*key, "|");
        const cJSON *value = find_path(object, *key, size);
        value = value ? value : find_path(other, *key, size);
        if (value || (*key)[size] == 0) {
            return value;
        }
        *key += size + 1;
    }
}

const cJSON *gi_hf_get(const struct gi_hf_build *b, const char *key)
{
    const char *own = key;
    const cJSON *value = find_first(b->config, b->root, &own);
    return value ? value : find_first(b->defaults, NULL, &key);
}

bool gi_hf_is_word(const char *text, const char *words)
{
    const size_t size = strlen(text);
    for (;; words++) {
        const size_t n = strcspn(words, "|");
        if (n == size && memcmp(words, text, n) == 0) {
            return true;
        }
        words += n;
        if (!*words) {
            return false;
        }
    }
}

static const cJSON *get_required(struct gi_hf_build *b, const char *key)
{
    const cJSON *value = gi_hf_get(b, key);
    if (!value) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "config.json: the key %.*s is missing",
                   (int)strcspn(key, "|"), key);
    }
    return value;
}

static void fail_kind(struct gi_hf_build *b, const char *key, const char *expected)
{
    find_first(b->config, b->root, &key);
    gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "config.json: the key %.*s is invalid, expected %s",
               (int)strcspn(key, "|"), key, expected);
}

void gi_hf_check_objects(struct gi_hf_build *b)
{
    static const char *const keys[] = {"text_config",
                                       "rope_scaling",
                                       "rope_parameters",
                                       "rope_parameters.full_attention",
                                       "rope_parameters.sliding_attention",
                                       "quantization",
                                       "quantization_config"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const cJSON *value = gi_hf_get(b, keys[i]);
        if (value && !cJSON_IsObject(value)) {
            fail_kind(b, keys[i], "an object");
        }
    }
}

uint32_t gi_hf_u32_or(struct gi_hf_build *b, const char *key, uint32_t fallback)
{
    const cJSON *value = gi_hf_get(b, key);
    uint64_t n;
    if (!value || !gi_hf_ok(b)) {
        return fallback;
    }
    if (!gi_hf_json_count(value, &n) || n > UINT32_MAX) {
        fail_kind(b, key, "a whole number of 0 to 2^32 - 1");
        return fallback;
    }
    return (uint32_t)n;
}

float gi_hf_f32_or(struct gi_hf_build *b, const char *key, float fallback)
{
    const cJSON *value = gi_hf_get(b, key);
    if (!value || !gi_hf_ok(b)) {
        return fallback;
    }
    if (!cJSON_IsNumber(value)) {
        fail_kind(b, key, "a number");
        return fallback;
    }
    return (float)value->valuedouble;
}

bool gi_hf_bool_or(struct gi_hf_build *b, const char *key, bool fallback)
{
    const cJSON *value = gi_hf_get(b, key);
    if (!value || !gi_hf_ok(b)) {
        return fallback;
    }
    if (!cJSON_IsBool(value)) {
        fail_kind(b, key, "true or false");
        return fallback;
    }
    return cJSON_IsTrue(value);
}

const char *gi_hf_text_or(struct gi_hf_build *b, const char *key, const char *fallback)
{
    const cJSON *value = gi_hf_get(b, key);
    if (!value || !gi_hf_ok(b)) {
        return fallback;
    }
    if (!cJSON_IsString(value)) {
        fail_kind(b, key, "a text");
        return fallback;
    }
    return value->valuestring;
}

uint32_t gi_hf_u32(struct gi_hf_build *b, const char *key)
{
    return get_required(b, key) ? gi_hf_u32_or(b, key, 0) : 0;
}

float gi_hf_f32(struct gi_hf_build *b, const char *key)
{
    return get_required(b, key) ? gi_hf_f32_or(b, key, 0) : 0;
}

uint32_t gi_hf_head_dim(struct gi_hf_build *b)
{
    enum { MOST = 1 << 16 };
    const uint32_t n_head = gi_hf_u32(b, "num_attention_heads|n_heads|n_head");
    const uint32_t n_embd = gi_hf_u32(b, "hidden_size|n_embd|dim");
    const uint32_t n = gi_hf_u32_or(b, "head_dim", n_head > 0 ? n_embd / n_head : 0);
    if (n == 0 || n > MOST) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: %u heads of %u elements are invalid, expected 1 to %d elements",
                   n_head, n, MOST);
    }
    return n > MOST ? 0 : n;
}

uint32_t gi_hf_context(struct gi_hf_build *b)
{
    const uint32_t n = gi_hf_u32(b, "max_position_embeddings|n_positions|max_sequence_length");
    return b->n_window > 0 && b->n_window < n ? b->n_window : n;
}

uint32_t gi_hf_fraction_of(struct gi_hf_build *b, uint32_t n, const char *key, float fallback)
{
    enum { MOST = 1 << 24 }; // whole numbers that floats have
    const float fraction = gi_hf_f32_or(b, key, fallback);
    if (!(fraction >= 0.0f && fraction <= 1.0f) || n > MOST) {
        find_first(b->config, b->root, &key);
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: %.*s is %g of %u, expected 0 to 1 of at most %d",
                   (int)strcspn(key, "|"), key, (double)fraction, n, MOST);
        return 0;
    }
    return (uint32_t)((float)n * fraction);
}

//-- pairs -----------------------------------------------------------------------------------------

enum { KEY_SIZE = 128 };

static const char *make_key(const struct gi_hf_build *b, const char *name, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%s.%s", b->arch, name);
    return key;
}

void gi_hf_add_u32(struct gi_hf_build *b, const char *key, uint32_t value)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_u32(b->out, make_key(b, key, buffer), value);
}

void gi_hf_add_f32(struct gi_hf_build *b, const char *key, float value)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_f32(b->out, make_key(b, key, buffer), value);
}

void gi_hf_add_bool(struct gi_hf_build *b, const char *key, bool value)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_bool(b->out, make_key(b, key, buffer), value);
}

void gi_hf_add_text(struct gi_hf_build *b, const char *key, const char *value)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_string(b->out, make_key(b, key, buffer), value, strlen(value));
}

void gi_hf_add_u32s(struct gi_hf_build *b, const char *key, const uint32_t *values, size_t n)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_u32s(b->out, make_key(b, key, buffer), values, n);
}

void gi_hf_add_bools(struct gi_hf_build *b, const char *key, const bool *values, size_t n)
{
    char buffer[KEY_SIZE];
    gi_gguf_add_bools(b->out, make_key(b, key, buffer), values, n);
}
