#include "cli/serve/calls/serve_styles.h"

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
                          .heads = {""},
                          .opens = {"("},
                          .notation = SERVE_NOTATION_PYTHON,
                          .key_end = "=",
                          .separator = ", ",
                          .close = ")"},
    [SERVE_STYLE_OLMO3] = {.triggers = {"<function_calls>"},
                           .marks = {"<function_calls>", "</function_calls>"},
                           .begin = "<function_calls>",
                           .end = "</function_calls>",
                           .between = {"\n"},
                           .heads = {""},
                           .opens = {"("},
                           .notation = SERVE_NOTATION_PYTHON,
                           .key_end = "=",
                           .separator = ", ",
                           .close = ")"},
    [SERVE_STYLE_GEMMA] = {.triggers = {"<|tool_call>"},
                           .marks = {"<|tool_call>", "<tool_call|>", SERVE_GEMMA_QUOTE},
                           .between = {"\n", ""},
                           .heads = {"<|tool_call>call:"},
                           .opens = {"{"},
                           .notation = SERVE_NOTATION_GEMMA,
                           .key_end = ":",
                           .separator = ",",
                           .close = "}",
                           .after = "<tool_call|>",
                           .result = "<|tool_response>response:"},
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
        return is_bare && !strpbrk(text, ":}") && !strstr(text, SERVE_GEMMA_QUOTE);
    default:
        return true;
    }
}
