// Calls of tools in what a model writes: how it marks them, and telling them from other text.
#ifndef SERVE_CALLS_H
#define SERVE_CALLS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct serve_call_style {
    const char *before, *after; // around the JSON of a call
    const char *trigger;        // what a call begins with, to be looked for in other text
    const char *arguments;      // the name of the JSON's member with the arguments
    bool is_list;               // the JSON is a list of calls
    size_t id_size;             // letters that the template wants in a call's id; 0: any
    bool is_native; // the model's template writes tools so; else a system message tells of them
};
// <tool_call>, as Qwen's and Hermes' templates have it, and what is asked of models without a way
// of their own; JSON with "parameters", as Llama 3.1's has it; [TOOL_CALLS] with a list, as
// Mistral's up to its eleventh version, where the trigger is a control token's name.
extern const struct serve_call_style serve_style_tagged, serve_style_plain, serve_style_told,
    serve_style_listed;

// Returns where calls begin in a text that was cut, perhaps in the middle of what a call begins
// with; its size if there are none. A single character at its end may be anything.
size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size);
// Returns how many bytes of a text that goes on are surely no part of a call.
size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size);
// Reads the calls in a whole text into OpenAI's list and sets *shown to the size of the text before
// them. Returns NULL if there is none.
cJSON *serve_read_calls(const struct serve_call_style *style, const char *text, size_t size,
                        size_t *shown);

#endif
