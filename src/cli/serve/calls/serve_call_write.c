#include "cli/serve/calls/serve_call_write.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_values.h"

#include <string.h>

// Appends a text of a style, without white space where it may be left out.
static void append(struct cli_bytes *text, const char *more)
{
    for (size_t n; more && *more; more += n + (more[n] == '~')) {
        n = strcspn(more, "~");
        cli_bytes_append(text, more, n);
    }
}

static void write_arguments(const struct serve_call_style *style, const cJSON *arguments,
                            struct cli_bytes *text)
{
    const cJSON *all = cJSON_IsObject(arguments) ? arguments : NULL, *item;
    if (style->notation == SERVE_NOTATION_JSON) {
        cli_append_json(text, arguments);
        return;
    }
    cJSON_ArrayForEach(item, all)
    {
        append(text, item == all->child ? "" : style->separator);
        cli_bytes_append(text, item->string, strlen(item->string));
        append(text, style->key_end);
        serve_write_python(item, text);
    }
}

void serve_write_calls(const struct serve_call_style *style, const cJSON *calls,
                       struct cli_bytes *text)
{
    const cJSON *call;
    append(text, style->begin);
    cJSON_ArrayForEach(call, calls)
    {
        const cJSON *function = cli_json_get(call, "function");
        const cJSON *name = cli_json_get(function, "name");
        append(text, call == calls->child ? "" : style->between[0]);
        append(text, style->before);
        append(text, style->heads[0]);
        if (style->is_json) {
            cli_append_json(text, name);
        } else if (cJSON_IsString(name)) {
            cli_bytes_append(text, name->valuestring, strlen(name->valuestring));
        }
        append(text, style->opens[0]);
        write_arguments(style, cli_json_get(function, "arguments"), text);
        append(text, style->close);
        append(text, style->after);
    }
    append(text, style->end);
}

static void append_fenced(struct cli_bytes *text, const char *fence, const char *mark)
{
    cli_bytes_append(text, fence, strlen(fence));
    cli_bytes_append(text, mark, strlen(mark));
    cli_bytes_append(text, fence, strlen(fence));
}

void serve_fence_marks(const struct serve_call_style *style, const char *fence, const char *calls,
                       struct cli_bytes *text)
{
    const char *first = style->triggers[0], *last = style->marks[1] ? style->marks[1] : "";
    const size_t n_first = strlen(first), n_last = strlen(last);
    append_fenced(text, fence, first);
    cli_bytes_append(text, calls + n_first, strlen(calls) - n_first - n_last);
    if (n_last > 0) {
        append_fenced(text, fence, last);
    }
}
