// Calls of tools as models write them, on any bytes: the first one chooses the style, the others
// are an answer. Calls that are read have a name and an object of arguments; what is shown of an
// answer that goes on stays shown.
#include "cli/serve/calls/serve_calls.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

// Some have two numbers, so that the corpus keeps its meaning.
static const unsigned char styles[] = {
    SERVE_STYLE_TAGGED,  SERVE_STYLE_TAGGED,   SERVE_STYLE_PLAIN,  SERVE_STYLE_LISTED,
    SERVE_STYLE_GRANITE, SERVE_STYLE_NEMOTRON, SERVE_STYLE_APRIEL, SERVE_STYLE_MISTRAL,
    SERVE_STYLE_HARMONY, SERVE_STYLE_QWEN,     SERVE_STYLE_SEED,   SERVE_STYLE_MINICPM,
    SERVE_STYLE_LFM2,    SERVE_STYLE_LFM2,     SERVE_STYLE_OLMO3,  SERVE_STYLE_GEMMA,
    SERVE_STYLE_GEMMA,
};

static const char tools_text[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},\"r\":{\"$ref\":"
    "\"#/$defs/t\"},\"$ a\":{}},\"$defs\":{\"t\":{\"enum\":[\"1\",\"2\"]}}}}}]";

static void check_call(const cJSON *call)
{
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(call, "function");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(function, "name");
    const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(function, "arguments");
    FUZZ_CHECK(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(call, "id")));
    FUZZ_CHECK(cJSON_IsString(name) && *name->valuestring && cJSON_IsString(arguments));
    cJSON *object = cJSON_Parse(arguments->valuestring);
    FUZZ_CHECK(cJSON_IsObject(object));
    cJSON_Delete(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const struct serve_call_style *style = &serve_styles[styles[data[0] % sizeof(styles)]];
    const char *text = (const char *)data + 1;
    const size_t n = size - 1, n_shown = serve_count_shown(style, text, n);
    size_t shown = n;
    FUZZ_CHECK(n_shown <= n && serve_count_shown(style, text, n / 2) <= n_shown);
    FUZZ_CHECK(serve_find_cut_call(style, text, n) <= n);
    FUZZ_CHECK(serve_measure_mark(style, text, n) <= n);
    cJSON *tools = cJSON_Parse(tools_text);
    cJSON *list = serve_read_calls(style, tools, text, n, &shown);
    const cJSON *call;
    FUZZ_CHECK(shown <= n && (list ? cJSON_GetArraySize(list) > 0 : shown == n));
    cJSON_ArrayForEach(call, list)
    {
        check_call(call);
    }
    cJSON_Delete(list);
    cJSON_Delete(serve_read_begun_calls(style, tools, text + n_shown, n - n_shown));
    cJSON_Delete(tools);
    return 0;
}
