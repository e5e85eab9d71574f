#include "cli/common/cli_json.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

cJSON *cli_json_text(const char *text, size_t size)
{
    struct cli_bytes quoted = {0};
    char escaped[8];
    bool is_good = cli_bytes_append(&quoted, "\"", 1);
    for (size_t i = 0; is_good && i < size; i++) {
        is_good = cli_bytes_append(&quoted, escaped, cli_json_escape(text[i], escaped));
    }
    is_good = is_good && cli_bytes_append(&quoted, "\"", 1);
    cJSON *raw = is_good ? cJSON_CreateRaw(quoted.data) : NULL;
    cli_bytes_finish(&quoted);
    return raw;
}

cJSON *cli_json_ids(const int32_t *ids, size_t n)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < n; i++) {
        cJSON *item = cJSON_CreateNumber(ids[i]);
        if (!item) {
            cJSON_Delete(array);
            return NULL;
        }
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

void cli_json_add_u64(cJSON *object, const char *name, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    cJSON_AddRawToObject(object, name, digits);
}

bool cli_json_add_float(cJSON *object, const char *name, float value)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%.9g", (double)value);
    return cJSON_AddRawToObject(object, name, isfinite(value) ? digits : "null") != NULL;
}

int cli_json_print(cJSON *object)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!text) {
        return cli_fail(CLI_EXIT_FAILED, "no memory for the JSON text");
    }
    cli_write(text, strlen(text));
    cli_write("\n", 1);
    cJSON_free(text);
    return cli_close_output(CLI_EXIT_DONE);
}
