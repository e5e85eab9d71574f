#include "cli/serve/calls/serve_styles.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_values.h"

#include <ctype.h>
#include <string.h>

// The members of a call that is a JSON object.
#define JSON_OBJECT(member)                                                                        \
    .is_json = true, .heads = {"{\"name\":~"}, .opens = {"~,~\"" member "\":~"}, .close = "~}",    \
    .arguments = member

// Lists between two marks, the second of which may be empty.
#define JSON_LIST(first, last)                                                                     \
    JSON_OBJECT("arguments"), .triggers = {first}, .begin = first "~[~", .end = "~]" last,         \
                              .between = {", ", "~,~"}

// Gemma's dictionaries between two marks, with a third at both ends of strings.
#define DICTIONARIES(first, last, mark)                                                            \
    .triggers = {first}, .marks = {first, last, mark}, .between = {"\n", ""},                      \
    .heads = {first "call:"}, .opens = {"{"}, .notation = SERVE_NOTATION_GEMMA, .quote = mark,     \
    .key_end = ":", .separator = ",", .close = "}", .after = last

// Python's calls with named arguments.
#define PYTHON_CALLS                                                                               \
    .heads = {""}, .opens = {"("}, .notation = SERVE_NOTATION_PYTHON, .key_end = "=",              \
    .separator = ", ", .close = ")"

const struct serve_call_style serve_styles[SERVE_N_STYLES] = {
    [SERVE_STYLE_TAGGED] = {JSON_OBJECT("arguments"), .triggers = {"<tool_call>"},
                            .marks = {"<tool_call>", "</tool_call>"}, .before = "<tool_call>\n",
                            .after = "\n</tool_call>", .between = {"\n", ""}},
    [SERVE_STYLE_PLAIN] = {.triggers = {"{\"name\":", "{\"type\": \"function\", \"name\":"},
                           .is_json = true,
                           .heads = {"{\"name\":~", "{\"type\": \"function\", \"name\":~"},
                           .opens = {"~,~\"parameters\":~"},
                           .close = "~}",
                           .arguments = "parameters"},
    [SERVE_STYLE_LISTED] = {JSON_LIST("[TOOL_CALLS]", ""), .marks = {"[TOOL_CALLS]"}, .id_size = 9},
    [SERVE_STYLE_GRANITE] = {JSON_LIST("<|tool_call|>", ""), .marks = {"<|tool_call|>"}},
    [SERVE_STYLE_NEMOTRON] = {JSON_LIST("<TOOLCALL>", "</TOOLCALL>"),
                              .marks = {"<TOOLCALL>", "</TOOLCALL>"}},
    [SERVE_STYLE_APRIEL] = {JSON_LIST("<tool_calls>", "</tool_calls>"),
                            .marks = {"<tool_calls>", "</tool_calls>"}},
    [SERVE_STYLE_MISTRAL] = {.triggers = {"[TOOL_CALLS]"},
                             .marks = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
                             .between = {"\n", ""},
                             .heads = {"[TOOL_CALLS]"},
                             .opens = {"[ARGS]"},
                             .id_size = 9},
    // A call has a message of its own, whose header names the tool in either of two places.
    [SERVE_STYLE_HARMONY] = {.triggers = {"to=functions."},
                             .marks = {"<|channel|>", "<|constrain|>", "<|message|>", "<|start|>",
                                       "<|end|>"},
                             .lead = " ",
                             .heads = {"to=functions."},
                             .opens = {"<|channel|>commentary json<|message|>",
                                       "<|channel|>commentary <|constrain|>json<|message|>",
                                       " <|constrain|>json<|message|>", "<|message|>"}},
    [SERVE_STYLE_QWEN] = {.triggers = {"<tool_call>", "<function="},
                          .marks = {"<tool_call>", "</tool_call>"},
                          .between = {"\n", ""},
                          .heads = {"<tool_call>\n<function=", "<function="},
                          .opens = {">\n"},
                          .notation = SERVE_NOTATION_TAGS,
                          .key = "<parameter=",
                          .key_end = ">\n",
                          .value_end = "\n</parameter>\n",
                          .close = "</function>",
                          .after = "\n</tool_call>"},
    [SERVE_STYLE_SEED] = {.triggers = {"<seed:tool_call>"},
                          .marks = {"<seed:tool_call>", "</seed:tool_call>"},
                          .between = {"\n", ""},
                          .before = "<seed:tool_call>\n",
                          .heads = {"<function="},
                          .opens = {">\n"},
                          .notation = SERVE_NOTATION_TAGS,
                          .key = "<parameter=",
                          .key_end = ">",
                          .value_end = "</parameter>\n",
                          .close = "</function>",
                          .after = "\n</seed:tool_call>"},
    [SERVE_STYLE_MINICPM] = {.triggers = {"<function name=\""},
                             .between = {"\n", ""},
                             .heads = {"<function name=\""},
                             .opens = {"\">"},
                             .notation = SERVE_NOTATION_TAGS,
                             .key = "<param name=\"",
                             .key_end = "\">",
                             .value_end = "</param>",
                             .close = "</function>"},
    [SERVE_STYLE_LFM2] = {.triggers = {"<|tool_call_start|>"},
                          .marks = {"<|tool_call_start|>", "<|tool_call_end|>"},
                          .begin = "<|tool_call_start|>[",
                          .end = "]<|tool_call_end|>",
                          .between = {", "},
                          PYTHON_CALLS},
    [SERVE_STYLE_OLMO3] = {.triggers = {"<function_calls>"},
                           .marks = {"<function_calls>", "</function_calls>"},
                           .begin = "<function_calls>",
                           .end = "</function_calls>",
                           .between = {"\n"},
                           PYTHON_CALLS},
    [SERVE_STYLE_GEMMA] = {DICTIONARIES("<|tool_call>", "<tool_call|>", "<|\"|>"),
                           .result = "<|tool_response>response:"},
    [SERVE_STYLE_FUNCTION_GEMMA] = {DICTIONARIES("<start_function_call>", "<end_function_call>",
                                                 "<escape>"),
                                    .result = "<start_function_response>response:"},
};

size_t serve_measure_mark(const struct serve_call_style *style, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(style->marks) / sizeof(style->marks[0]) && style->marks[i]; i++) {
        const size_t n = strlen(style->marks[i]);
        if (n <= size && memcmp(text, style->marks[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

bool serve_is_mark(const struct serve_call_style *style, const char *name, size_t size)
{
    return size > 0 && serve_measure_mark(style, name, size) == size;
}

size_t serve_count_name(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && text[n] && (isalnum((unsigned char)text[n]) || strchr("_-.", text[n]))) {
        n++;
    }
    return n;
}

bool serve_is_name(const char *text)
{
    enum { MAX_SIZE = 64 };
    const size_t n = strlen(text);
    return n > 0 && n <= MAX_SIZE && serve_count_name(text, n) == n;
}

bool serve_is_key(const struct serve_call_style *style, const char *text)
{
    static const char white[] = " \t\r\n";
    const size_t n = strlen(text);
    const bool is_bare = n > 0 && !strchr(white, text[0]) && !strchr(white, text[n - 1]);
    switch (style->notation) {
    case SERVE_NOTATION_TAGS:
        return !memmem(text, n, style->key_end, strcspn(style->key_end, "\n"));
    case SERVE_NOTATION_PYTHON:
        return is_bare && !strchr(text, '=') && !strchr("),]", text[0]);
    case SERVE_NOTATION_GEMMA:
        return is_bare && !strpbrk(text, ":}") && !strstr(text, style->quote);
    default:
        return true;
    }
}

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
        cli_bytes_add(text, item->string);
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
            cli_bytes_add(text, name->valuestring);
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
    cli_bytes_add(text, fence);
    cli_bytes_add(text, mark);
    cli_bytes_add(text, fence);
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
