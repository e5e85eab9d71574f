#include "cli/serve/answer/serve_calls.h"

#include "cli/common/cli_json.h"

#include <string.h>
#include <sys/random.h>

const struct serve_call_style serve_style_tagged = {
    .before = "<tool_call>\n",
    .after = "\n</tool_call>",
    .trigger = "<tool_call>",
    .arguments = "arguments",
    .is_native = true,
};
const struct serve_call_style serve_style_told = {
    .before = "<tool_call>\n",
    .after = "\n</tool_call>",
    .trigger = "<tool_call>",
    .arguments = "arguments",
};
const struct serve_call_style serve_style_plain = {
    .before = "",
    .after = "",
    .trigger = "{\"name\":",
    .arguments = "parameters",
    .is_native = true,
};

const struct serve_call_style serve_style_listed = {
    .before = "[TOOL_CALLS]",
    .after = "",
    .trigger = "[TOOL_CALLS]",
    .arguments = "arguments",
    .is_list = true,
    .id_size = 9,
    .is_native = true,
};

static size_t find_call(const struct serve_call_style *style, const char *text, size_t size)
{
    const char *found =
        size > 0 ? memmem(text, size, style->trigger, strlen(style->trigger)) : NULL;
    return found ? (size_t)(found - text) : size;
}

size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t n = strlen(style->trigger), found = find_call(style, text, size);
    if (found < size) {
        return found;
    }
    for (size_t held = size < n ? size : n - 1; held > 0; held--) {
        if (memcmp(text + size - held, style->trigger, held) == 0) {
            return size - held;
        }
    }
    return size;
}

size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t n = serve_count_shown(style, text, size);
    return size - n == 1 && n > 0 ? size : n;
}

// Adds an id of so many letters; 0: as OpenAI's are.
static void add_id(cJSON *call, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[24] = {0};
    char id[5 + sizeof(random) + 1] = "call_";
    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0) {
        memcpy(random, &call, sizeof(call)); // an id need only differ from others
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        id[5 + i] = letters[random[i] % 32];
    }
    cJSON_AddStringToObject(call, "id", size > 0 ? id + sizeof(id) - 1 - size : id);
}

// Adds a call to the list; false if the JSON is none.
static bool add_call(cJSON *list, const struct serve_call_style *style, const cJSON *json)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "name");
    const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(json, style->arguments);
    if (!cJSON_IsString(name) || !cJSON_IsObject(arguments)) {
        return false;
    }
    cJSON *call = cli_json_append(list);
    add_id(call, style->id_size);
    cJSON_AddStringToObject(call, "type", "function");
    cJSON *function = cJSON_AddObjectToObject(call, "function");
    char *text = cJSON_PrintUnformatted(arguments);
    cJSON_AddStringToObject(function, "name", name->valuestring);
    cJSON_AddStringToObject(function, "arguments", text ? text : "{}");
    cJSON_free(text);
    return true;
}

// Adds the call that the JSON is, or those of a list; false if it is none.
static bool add_calls(cJSON *list, const struct serve_call_style *style, const cJSON *json)
{
    const cJSON *item;
    if (!style->is_list || !cJSON_IsArray(json)) {
        return add_call(list, style, json);
    }
    cJSON_ArrayForEach(item, json)
    {
        if (!add_call(list, style, item)) {
            return false;
        }
    }
    return true;
}

// Skips white space, and `what` without the white space at its ends if it is there.
static const char *skip(const char *text, const char *end, const char *what)
{
    static const char white[] = " \t\r\n";
    while (text < end && strchr(white, *text)) {
        text++;
    }
    what += strspn(what, white);
    size_t n = strlen(what);
    while (n > 0 && strchr(white, what[n - 1])) {
        n--;
    }
    return (size_t)(end - text) >= n && memcmp(text, what, n) == 0 ? text + n : text;
}

cJSON *serve_read_calls(const struct serve_call_style *style, const char *text, size_t size,
                        size_t *shown)
{
    const char *end = text + size;
    const size_t first = serve_count_shown(style, text, size);
    const char *at = text + first;
    cJSON *list = cJSON_CreateArray();
    bool goes_on = true;
    while (goes_on && at < end) {
        const char *rest = NULL;
        at = skip(at, end, style->before);
        cJSON *json = cJSON_ParseWithLengthOpts(at, (size_t)(end - at), &rest, false);
        goes_on = json && add_calls(list, style, json);
        at = goes_on ? skip(rest, end, style->after) : at;
        cJSON_Delete(json);
    }
    if (cJSON_GetArraySize(list) == 0) {
        cJSON_Delete(list);
        return NULL;
    }
    *shown = first;
    return list;
}
