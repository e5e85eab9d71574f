#include "cli/serve/api/serve_fields.h"

#include "cli/common/cli_json_read.h"
#include "cli/common/cli_utf8.h"

#include <float.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *serve_find_fault(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t n = cli_utf8_size(text + i, size - i);
        if (n == 0) {
            return "not UTF-8";
        }
        if (text[i] == 0) {
            return "it has a zero byte";
        }
        i += n;
        if (text[i - 1] == '\\' && i < size) {
            if (size - i >= 5 && memcmp(text + i, "u0000", 5) == 0) {
                return "it has a zero character (\\u0000)";
            }
            i += text[i] == '\\' || text[i] == '"'; // an escaped one escapes nothing
        }
    }
    return NULL;
}

bool serve_fields_refuse(struct serve_fields *fields, unsigned status, const char *format, ...)
{
    if (!fields->is_wrong) {
        va_list args;
        va_start(args, format);
        vsnprintf(fields->message, sizeof(fields->message), format, args);
        va_end(args);
        fields->status = status;
        fields->is_wrong = true;
    }
    return false;
}

bool serve_fields_overflow(struct serve_fields *fields, size_t n, uint32_t n_ctx)
{
    if (!fields->is_wrong) {
        fields->n_prompt = n;
        fields->n_ctx = n_ctx;
    }
    // Clients look for the words "exceeds the available context size" and "too large".
    return serve_fields_refuse(fields, 400,
                               "request (%zu tokens) exceeds the available context size (%u "
                               "tokens): it is too large; shorten it, or start the server with a "
                               "larger -c",
                               n, n_ctx);
}

bool serve_fields_expect(struct serve_fields *fields, const char *name, const char *expected)
{
    return serve_fields_refuse(fields, 400, "invalid \"%s\": expected %s", name, expected);
}

const cJSON *serve_fields_get(const struct serve_fields *fields, const char *name)
{
    const cJSON *field = cli_json_get(fields->object, name);
    return field && !cJSON_IsNull(field) ? field : NULL;
}

bool serve_fields_bool(struct serve_fields *fields, const char *name, bool *value)
{
    const cJSON *field = serve_fields_get(fields, name);
    if (!field || fields->is_wrong) {
        return false;
    }
    if (!cJSON_IsBool(field)) {
        return serve_fields_expect(fields, name, "true or false");
    }
    *value = cJSON_IsTrue(field);
    return true;
}

bool serve_fields_float(struct serve_fields *fields, const char *name, double low, double high,
                        float *value)
{
    const cJSON *field = serve_fields_get(fields, name);
    if (!field || fields->is_wrong) {
        return false;
    }
    if (!cli_json_is_number(field) || !(field->valuedouble >= low && field->valuedouble <= high)) {
        return serve_fields_refuse(fields, 400, "invalid \"%s\": expected a number from %g to %g",
                                   name, low, high);
    }
    *value = (float)field->valuedouble;
    return true;
}

bool serve_fields_clamped(struct serve_fields *fields, const char *name, double low, double high,
                          float *value)
{
    float number = 0;
    if (!serve_fields_float(fields, name, -FLT_MAX, FLT_MAX, &number)) {
        return false;
    }
    *value = (float)(number < low ? low : number > high ? high : number);
    return true;
}

bool serve_fields_int(struct serve_fields *fields, const char *name, int64_t low, int64_t high,
                      int64_t *value)
{
    const cJSON *field = serve_fields_get(fields, name);
    if (!field || fields->is_wrong) {
        return false;
    }
    int64_t number;
    if (!cli_json_int(field, &number) || number < low || number > high) {
        return serve_fields_refuse(
            fields, 400, "invalid \"%s\": expected a whole number from %" PRId64 " to %" PRId64,
            name, low, high);
    }
    *value = number;
    return true;
}

bool serve_fields_text(struct serve_fields *fields, const char *name, const char **value)
{
    const cJSON *field = serve_fields_get(fields, name);
    if (!field || fields->is_wrong) {
        return false;
    }
    if (!cJSON_IsString(field)) {
        return serve_fields_expect(fields, name, "a string");
    }
    *value = field->valuestring;
    return true;
}
