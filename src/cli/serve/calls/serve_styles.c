// The ways in which models write calls of tools.
#include "cli/serve/calls/serve_gemma.h"

//-- JSON ------------------------------------------------------------------------------------------

#define TAGGED                                                                                     \
    .before = "<tool_call>\n", .after = "\n</tool_call>", .trigger = "<tool_call>",                \
    .arguments = "arguments", .marks = {"<tool_call>", "</tool_call>"}

const struct serve_call_style serve_style_tagged = {TAGGED, .is_native = true, .is_written = true};
const struct serve_call_style serve_style_told = {TAGGED};
const struct serve_call_style serve_style_plain = {
    .before = "",
    .after = "",
    .trigger = "{\"name\":",
    .other_trigger = "{\"type\": \"function\", \"name\":",
    .arguments = "parameters",
    .is_native = true,
    .is_written = true,
};
const struct serve_call_style serve_style_listed = {
    .before = "[TOOL_CALLS]",
    .after = "",
    .trigger = "[TOOL_CALLS]",
    .arguments = "arguments",
    .marks = {"[TOOL_CALLS]"},
    .is_list = true,
    .id_size = 9,
    .is_native = true,
    .is_written = true,
};
const struct serve_call_style serve_style_granite = {
    .before = "<|tool_call|>",
    .after = "",
    .trigger = "<|tool_call|>",
    .arguments = "arguments",
    .marks = {"<|tool_call|>"},
    .is_list = true,
    .is_native = true,
};
const struct serve_call_style serve_style_nemotron = {
    .before = "<TOOLCALL>",
    .after = "</TOOLCALL>",
    .trigger = "<TOOLCALL>",
    .arguments = "arguments",
    .marks = {"<TOOLCALL>", "</TOOLCALL>"},
    .is_list = true,
    .is_native = true,
    .is_written = true,
};

const struct serve_call_style serve_style_apriel = {
    .before = "<tool_calls>",
    .after = "</tool_calls>",
    .trigger = "<tool_calls>",
    .arguments = "arguments",
    .marks = {"<tool_calls>", "</tool_calls>"},
    .is_list = true,
    .is_native = true,
    .is_written = true,
};

//-- a name, and JSON ------------------------------------------------------------------------------

const struct serve_call_style serve_style_mistral = {
    .form = SERVE_CALL_NAMED,
    .before = "[TOOL_CALLS]",
    .after = "",
    .trigger = "[TOOL_CALLS]",
    .middles = {"[ARGS]"},
    .opens = "[ARGS]",
    .marks = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
    .id_size = 9,
    .is_native = true,
    .is_written = true,
};
// A call has a message of its own, whose header names the tool in either of two places.
const struct serve_call_style serve_style_harmony = {
    .form = SERVE_CALL_NAMED,
    .before = "to=functions.",
    .after = "",
    .trigger = "to=functions.",
    .middles = {"<|channel|>commentary json<|message|>",
                "<|channel|>commentary <|constrain|>json<|message|>",
                " <|constrain|>json<|message|>", "<|message|>"},
    .opens = "<|message|>",
    .lead = " ",
    .marks = {"<|channel|>", "<|constrain|>", "<|message|>", "<|start|>", "<|end|>"},
    .is_native = true,
    .is_written = true,
};

//-- tags ------------------------------------------------------------------------------------------

static const struct serve_call_tags qwen_tags = {
    .name = "<function=",
    .name_end = ">\n",
    .key = "<parameter=",
    .key_end = ">\n",
    .value_end = "\n</parameter>\n",
    .is_lined = true,
    .end = "</function>",
};
const struct serve_call_style serve_style_qwen = {
    .form = SERVE_CALL_TAGS,
    .before = "<tool_call>\n",
    .after = "\n</tool_call>",
    .trigger = "<tool_call>",
    .other_trigger = "<function=",
    .tags = &qwen_tags,
    .marks = {"<tool_call>", "</tool_call>"},
    .is_native = true,
    .is_written = true,
};
static const struct serve_call_tags seed_tags = {
    .name = "<function=",
    .name_end = ">\n",
    .key = "<parameter=",
    .key_end = ">",
    .value_end = "</parameter>\n",
    .end = "</function>",
};
const struct serve_call_style serve_style_seed = {
    .form = SERVE_CALL_TAGS,
    .before = "<seed:tool_call>\n",
    .after = "\n</seed:tool_call>",
    .trigger = "<seed:tool_call>",
    .tags = &seed_tags,
    .marks = {"<seed:tool_call>", "</seed:tool_call>"},
    .is_native = true,
    .is_written = true,
};
static const struct serve_call_tags minicpm_tags = {
    .name = "<function name=\"",
    .name_end = "\">",
    .key = "<param name=\"",
    .key_end = "\">",
    .value_end = "</param>",
    .end = "</function>",
};
const struct serve_call_style serve_style_minicpm = {
    .form = SERVE_CALL_TAGS,
    .before = "",
    .after = "",
    .trigger = "<function name=\"",
    .tags = &minicpm_tags,
    .is_native = true,
    .is_written = true,
};

//-- Python ----------------------------------------------------------------------------------------

#define LFM2                                                                                       \
    .form = SERVE_CALL_PYTHON, .before = "<|tool_call_start|>[", .after = "]<|tool_call_end|>",    \
    .trigger = "<|tool_call_start|>", .between = ", ",                                             \
    .marks = {"<|tool_call_start|>", "<|tool_call_end|>"}, .is_native = true

const struct serve_call_style serve_style_lfm2 = {LFM2};
const struct serve_call_style serve_style_lfm2_written = {LFM2, .is_written = true};
const struct serve_call_style serve_style_olmo3 = {
    .form = SERVE_CALL_PYTHON,
    .before = "<function_calls>",
    .after = "</function_calls>",
    .trigger = "<function_calls>",
    .between = "\n",
    .marks = {"<function_calls>", "</function_calls>"},
    .is_native = true,
    .is_written = true,
};

//-- dictionaries ----------------------------------------------------------------------------------

#define GEMMA                                                                                      \
    .form = SERVE_CALL_GEMMA, .before = "<|tool_call>call:", .after = "<tool_call|>",              \
    .trigger = "<|tool_call>", .marks = {"<|tool_call>", "<tool_call|>", SERVE_GEMMA_QUOTE},       \
    .is_native = true, .is_written = true

const struct serve_call_style serve_style_gemma = {GEMMA};
const struct serve_call_style serve_style_gemma_first = {GEMMA, .is_whole = true};
