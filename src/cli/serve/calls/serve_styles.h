// The ways in which models write calls of tools. One description of a style yields the grammar that
// constrains calls (serve_call_grammar.h), the reader (serve_calls.h) and the text of calls in a
// prompt (serve_write_calls).
#pragma once

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum serve_notation {
    SERVE_NOTATION_JSON,   // one JSON object
    SERVE_NOTATION_TAGS,   // arguments between tags: strings without quotes, other values as JSON
    SERVE_NOTATION_PYTHON, // keyword arguments
    SERVE_NOTATION_GEMMA,  // a dictionary: keys without quotes, strings within marks
};

// Calls are the text
//     begin CALL {between CALL} end,  where CALL is  before head NAME open ARGUMENTS close after
// and ARGUMENTS, in any notation but JSON, is {key KEY key_end VALUE value_end}, with a separator
// between two arguments. Lists are alternatives and end with NULL; a text that is NULL is empty.
// '~' stands for any white space. A reader ignores white space at the ends of these texts, and does
// not need begin, before, between, after and end.
struct serve_call_style {
    const char *triggers[2]; // texts that calls begin with, to be found in other text
    const char *marks[5];    // names of control tokens that are text in calls
    const char *lead;        // text before a call in an answer that must be one
    const char *begin, *end;
    const char *between[3]; // none: an answer has one call
    const char *before, *after;
    const char *heads[3];
    const char *opens[5]; // the last one ends all of them
    const char *close;
    bool is_json; // a call is a JSON object, whose members may come in any order
    enum serve_notation notation;
    const char *key, *key_end, *value_end, *separator;
    const char *quote;     // the mark at both ends of strings, in Gemma's notation
    const char *arguments; // the member with the arguments, if is_json
    const char *result;    // text of a template before results that are messages of their own;
                           // NULL: every template takes such messages
    size_t id_size;        // letters in the id of a call; 0: any number
};

enum serve_style {
    SERVE_STYLE_TAGGED, // JSON within <tool_call>: Qwen, Hermes; asked of models without a style
    SERVE_STYLE_PLAIN,  // JSON with "parameters": Llama 3.1
    SERVE_STYLE_LISTED, // lists of JSON: Mistral up to version 11 of its tokenizer
    SERVE_STYLE_GRANITE,
    SERVE_STYLE_NEMOTRON,
    SERVE_STYLE_APRIEL,
    SERVE_STYLE_MISTRAL, // a name and JSON: Mistral from version 11 on
    SERVE_STYLE_HARMONY, // gpt-oss
    SERVE_STYLE_QWEN,    // tags: Qwen3-Coder and Qwen 3.5
    SERVE_STYLE_SEED,
    SERVE_STYLE_MINICPM,
    SERVE_STYLE_LFM2, // Python
    SERVE_STYLE_OLMO3,
    SERVE_STYLE_GEMMA, // dictionaries: Gemma 4
    SERVE_STYLE_FUNCTION_GEMMA,
    SERVE_N_STYLES,
};
extern const struct serve_call_style serve_styles[SERVE_N_STYLES];

// Returns the size of the mark that a text begins with, 0 if it begins with none.
size_t serve_measure_mark(const struct serve_call_style *style, const char *text, size_t size);
// Returns true if a name is that of a control token that is text in calls of the style.
bool serve_is_mark(const struct serve_call_style *style, const char *name, size_t size);

// Returns how many of the characters that names of tools consist of a text begins with.
size_t serve_count_name(const char *text, size_t size);
// Returns true if a text may be the name of a tool: 1 to 64 letters, digits, '_', '-' and '.'.
bool serve_is_name(const char *text);
// Returns true if a text may be the name of a parameter: its end is found in calls of the style.
bool serve_is_key(const struct serve_call_style *style, const char *text);

enum { SERVE_FENCE_SIZE = 32 };

// Appends OpenAI's list of calls, whose arguments are objects, in a style of JSON or Python.
void serve_write_calls(const struct serve_call_style *style, const cJSON *calls,
                       struct cli_bytes *text);
// Appends calls that begin with the style's trigger and end with its second mark, if it has one,
// both within fences.
void serve_fence_marks(const struct serve_call_style *style, const char *fence, const char *calls,
                       struct cli_bytes *text);
