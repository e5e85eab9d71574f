#include "cli/common/cli_json.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void cli_json_add(cJSON *object, const void *record, const struct cli_json_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = fields[i].name;
        const void *field = (const char *)record + fields[i].offset;
        switch (fields[i].kind) {
        case CLI_JSON_BOOL:
            cJSON_AddBoolToObject(object, name, *(const bool *)field);
            break;
        case CLI_JSON_U32:
            cJSON_AddNumberToObject(object, name, *(const uint32_t *)field);
            break;
        case CLI_JSON_U64:
            cli_json_add_u64(object, name, *(const uint64_t *)field);
            break;
        case CLI_JSON_DOUBLE:
            cJSON_AddNumberToObject(object, name, *(const double *)field);
            break;
        case CLI_JSON_TEXT:
            cJSON_AddStringToObject(object, name, *(const char *const *)field);
            break;
        case CLI_JSON_CHARS:
            cJSON_AddStringToObject(object, name, field);
        }
    }
}

cJSON *cli_json_text(const char *text, size_t size)
{
    struct cli_bytes quoted = {0};
    char escape[8];
    cli_bytes_append(&quoted, "\"", 1);
    for (size_t i = 0, n = 1; i < size; i += n) {
        const unsigned char c = (unsigned char)text[i];
        const size_t found = cli_utf8_size(&text[i], size - i);
        n = found > 0 ? found : 1;
        if (found == 0) {
            cli_bytes_append(&quoted, "\xEF\xBF\xBD", 3); // U+FFFD
        } else if (c == '\n') {
            cli_bytes_append(&quoted, "\\n", 2);
        } else if (c < 0x20 || c == 0x7F) {
            snprintf(escape, sizeof(escape), "\\u%04x", c);
            cli_bytes_append(&quoted, escape, 6);
        } else {
            cli_bytes_append(&quoted, "\\", c == '"' || c == '\\');
            cli_bytes_append(&quoted, &text[i], n);
        }
    }
    cli_bytes_append(&quoted, "\"", 1);
    cJSON *raw = cJSON_CreateRaw(quoted.data);
    cli_bytes_finish(&quoted);
    return raw;
}

cJSON *cli_json_bytes(const char *bytes, size_t size)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < size; i++) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber((unsigned char)bytes[i]));
    }
    return list;
}

cJSON *cli_json_ids(const int32_t *ids, size_t n)
{
    return n > 0 ? cJSON_CreateIntArray(ids, (int)n) : cJSON_CreateArray();
}

cJSON *cli_json_floats(const float *values, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof(text), "%.9g", (double)values[i]);
        cJSON_AddItemToArray(list, cJSON_CreateRaw(text));
    }
    return list;
}

void cli_json_add_u64(cJSON *object, const char *name, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    cJSON_AddRawToObject(object, name, digits);
}

void cli_json_add_float(cJSON *object, const char *name, float value)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%.9g", (double)value);
    cJSON_AddRawToObject(object, name, isfinite(value) ? digits : "null");
}

void cli_json_add_steps(cJSON *object, const double step_ns[GLINFER_DISPATCH_WAYS])
{
    cJSON *steps = cJSON_AddObjectToObject(object, "step_ns");
    for (int i = 0; i < GLINFER_DISPATCH_WAYS; i++) {
        if (step_ns[i] > 0) {
            cJSON_AddNumberToObject(steps, glinfer_dispatch_name((enum glinfer_dispatch)i),
                                    step_ns[i]);
        }
    }
}

void cli_json_set(cJSON *object, const char *name, cJSON *value)
{
    if (!cJSON_ReplaceItemInObjectCaseSensitive(object, name, value)) {
        cJSON_AddItemToObject(object, name, value);
    }
}

bool cli_json_add_first(cJSON *object, const char *name, cJSON *value)
{
    if (cli_json_get(object, name)) {
        cJSON_Delete(value);
        return false;
    }
    return cJSON_AddItemToObject(object, name, value);
}

void cli_append_json(struct cli_bytes *bytes, const cJSON *json)
{
    char *text = cJSON_PrintUnformatted(json);
    cli_bytes_append(bytes, text ? text : "", text ? strlen(text) : 0);
    cJSON_free(text);
}

cJSON *cli_json_append(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(array, object);
    return object;
}

bool cli_json_print(cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    cJSON_Delete(value);
    if (!text) {
        return cli_fail(CLI_EXIT_FAILED, "cannot allocate memory for the JSON text");
    }
    cli_write(text, strlen(text));
    cli_write("\n", 1);
    cJSON_free(text);
    return cli_close_output();
}
