#include "cli/serve/calls/serve_call_write.h"

#include "cli/serve/calls/serve_python.h"

#include <string.h>
#include <sys/random.h>

static void append(struct cli_bytes *text, const char *more)
{
    cli_bytes_append(text, more, strlen(more));
}

static void append_json(struct cli_bytes *text, const cJSON *json)
{
    char *more = cJSON_PrintUnformatted(json);
    append(text, more ? more : "{}");
    cJSON_free(more);
}

static void write_json(const struct serve_call_style *style, const cJSON *name,
                       const cJSON *arguments, struct cli_bytes *text)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "name", cJSON_Duplicate(name, 1));
    cJSON_AddItemToObject(json, style->arguments, cJSON_Duplicate(arguments, 1));
    append_json(text, json);
    cJSON_Delete(json);
}

static void write_python(const cJSON *name, const cJSON *arguments, struct cli_bytes *text)
{
    const cJSON *all = cJSON_IsObject(arguments) ? arguments : NULL, *item;
    append(text, cJSON_IsString(name) ? name->valuestring : "");
    append(text, "(");
    cJSON_ArrayForEach(item, all)
    {
        append(text, item == all->child ? "" : ", ");
        append(text, item->string);
        append(text, "=");
        serve_write_python(item, text);
    }
    append(text, ")");
}

void serve_write_calls(const struct serve_call_style *style, const cJSON *calls,
                       struct cli_bytes *text)
{
    const bool is_python = style->form == SERVE_CALL_PYTHON;
    const bool is_whole = style->is_list || is_python; // one frame around all calls
    const cJSON *call;
    append(text, is_whole ? style->before : "");
    append(text, style->is_list ? "[" : "");
    cJSON_ArrayForEach(call, calls)
    {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(call, "function");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(function, "name");
        const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(function, "arguments");
        if (call != calls->child) {
            append(text, is_python ? style->between : style->is_list ? ", " : "\n");
        }
        append(text, is_whole ? "" : style->before);
        if (is_python) {
            write_python(name, arguments, text);
        } else {
            write_json(style, name, arguments, text);
        }
        append(text, is_whole ? "" : style->after);
    }
    append(text, style->is_list ? "]" : "");
    append(text, is_whole ? style->after : "");
}

void serve_make_fence(char fence[SERVE_FENCE_SIZE])
{
    unsigned char random[SERVE_FENCE_SIZE - 1] = {0};
    if (getrandom(random, sizeof(random), 0) < 0) {
        fence[0] = 0; // marks are text then
        return;
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        fence[i] = (char)('a' + random[i] % 16);
    }
    fence[sizeof(random)] = 0;
}

static void append_fenced(struct cli_bytes *text, const char *fence, const char *mark)
{
    append(text, fence);
    append(text, mark);
    append(text, fence);
}

void serve_fence_marks(const struct serve_call_style *style, const char *fence, const char *calls,
                       struct cli_bytes *text)
{
    const char *last = style->marks[0] && style->marks[1] ? style->marks[1] : "";
    const size_t size = strlen(calls), n_first = strlen(style->trigger), n_last = strlen(last);
    append_fenced(text, fence, style->trigger);
    cli_bytes_append(text, calls + n_first, size - n_first - n_last);
    if (n_last > 0) {
        append_fenced(text, fence, last);
    }
}
