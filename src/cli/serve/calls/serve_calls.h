// Calls of tools in what a model writes: how it marks them, and telling them from other text.
#ifndef SERVE_CALLS_H
#define SERVE_CALLS_H

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum serve_call_form {
    SERVE_CALL_JSON,   // {"name": ..., "arguments": {...}}, or a list of them
    SERVE_CALL_NAMED,  // the name, a middle, and the arguments as JSON
    SERVE_CALL_TAGS,   // the name, keys and values, each within a tag
    SERVE_CALL_PYTHON, // name(key=value, ...)
    SERVE_CALL_GEMMA,  // call:name{key:value,...}
};

// The tags of SERVE_CALL_TAGS, with the line ends that belong to them.
struct serve_call_tags {
    const char *name, *name_end; // around the name
    const char *key, *key_end;   // around a key
    const char *value_end;
    bool is_lined; // a value has lines of its own
    const char *end;
};

struct serve_call_style {
    enum serve_call_form form;
    const char *before, *after; // around a call; of a list and in Python around all calls
    const char *trigger;        // what a call begins with, to be looked for in other text
    const char *other_trigger;  // another text of that kind; NULL: none
    const char *arguments;      // of JSON: the name of the member with the arguments
    bool is_list;               // of JSON: it is a list of calls
    const char *middles[4]; // of NAMED: what may stand between name and arguments; NULL: no more
    const char *opens;      // of NAMED: what ends the middle
    const char *lead; // of NAMED: what stands in front of an answer that is a call; NULL: nothing
    const char *between; // of PYTHON: between calls
    const struct serve_call_tags *tags;
    const char *marks[5]; // names of control tokens that are text in calls; NULL: no more
    size_t id_size;       // letters that the template wants in a call's id; 0: any
    bool is_native;  // the model's template tells of tools itself; else a system message does so
    bool is_written; // the template writes calls itself; else they are text of the assistant
    bool is_whole;   // it wants calls, their results and what follows these in one message
};

// <tool_call> around JSON, as Qwen's and Hermes' templates have it, and what is asked of models
// without a way of their own; JSON with "parameters", as Llama 3.1's has it.
extern const struct serve_call_style serve_style_tagged, serve_style_told, serve_style_plain;
// Lists of JSON: behind [TOOL_CALLS], as Mistral's have it up to the eleventh version; behind
// <|tool_call|>, as Granite 3's; within <TOOLCALL>, as Nemotron's, or <tool_calls>, as Apriel's.
extern const struct serve_call_style serve_style_listed, serve_style_granite, serve_style_nemotron,
    serve_style_apriel;
// Names before JSON: Mistral's from the eleventh version on, and gpt-oss'.
extern const struct serve_call_style serve_style_mistral, serve_style_harmony;
// Tags: those of Qwen3-Coder and Qwen 3.5, of Seed-OSS, of MiniCPM 5.
extern const struct serve_call_style serve_style_qwen, serve_style_seed, serve_style_minicpm;
// Python: LFM2's, whose templates write none or do, and OLMo 3's.
extern const struct serve_call_style serve_style_lfm2, serve_style_lfm2_written, serve_style_olmo3;
// Gemma 4's dictionaries, and those of its first templates.
extern const struct serve_call_style serve_style_gemma, serve_style_gemma_first;

// Returns where calls begin in a text that was cut, perhaps in the middle of what a call begins
// with; its size if there are none. A single character at its end may be anything.
size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size);
// Returns how many bytes of a text that goes on are surely no part of a call.
size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size);
// Reads the calls in a whole text into OpenAI's list and sets *shown to the size of the text before
// them. tools: the request's, whose schemas tell texts from other values; NULL: none. Returns NULL
// if there is no call.
cJSON *serve_read_calls(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        size_t size, size_t *shown);

// Reads the calls in a text that grows, from the beginning of the first call; the last call may be
// incomplete. Arguments only get longer as the text grows, and end as those of serve_read_calls.
cJSON *serve_read_begun_calls(const struct serve_call_style *style, const cJSON *tools,
                              const char *text, size_t size);

// True if a text may be the name of a tool: 1 to 64 letters, digits, '_', '-' and '.', as calls are
// read in every form.
bool serve_is_name(const char *text);
// True if a text may be the name of a parameter: calls of the style are read as they were meant.
bool serve_is_key(const struct serve_call_style *style, const char *text);

// Returns the size of the mark that a text begins with, 0 if it begins with none.
size_t serve_measure_mark(const struct serve_call_style *style, const char *text, size_t size);
// True if a name is that of a control token that is text in calls of the style.
bool serve_is_mark(const struct serve_call_style *style, const char *name, size_t size);

#endif
