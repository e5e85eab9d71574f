#include "tokenizer/chat/chat_format.h"

#define BOS  GI_CHAT_BOS
#define EOS  GI_CHAT_EOS
#define DATE GI_CHAT_DATE

#define CHATML_TURNS                                                                               \
    .system = {"<|im_start|>system\n", "<|im_end|>\n"},                                            \
    .user = {"<|im_start|>user\n", "<|im_end|>\n"},                                                \
    .assistant = {"<|im_start|>assistant\n", "<|im_end|>\n"}
#define LLAMA3_TURNS                                                                               \
    .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},                        \
    .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},              \
    .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",                                 \
    .trims = GI_CHAT_TRIM_SYSTEM | GI_CHAT_TRIM_USER | GI_CHAT_TRIM_ASSISTANT
#define GEMMA_TURNS                                                                                \
    .begin = BOS, .user = {"<start_of_turn>user\n", "<end_of_turn>\n"},                            \
    .assistant = {"<start_of_turn>model\n", "<end_of_turn>\n"},                                    \
    .answer = "<start_of_turn>model\n", .place = GI_CHAT_PLACE_FIRST_USER
#define PHI3_TURNS                                                                                 \
    .user = {"<|user|>\n", "<|end|>\n"}, .assistant = {"<|assistant|>\n", "<|end|>\n"},            \
    .answer = "<|assistant|>\n"
#define GRANITE_TURNS                                                                              \
    .system = {"<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"},                     \
    .user = {"<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"},                         \
    .assistant = {"<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},               \
    .answer = "<|start_of_role|>assistant<|end_of_role|>"
#define DEEPSEEK3_TURNS                                                                            \
    .begin = BOS, .system = {"", ""}, .user = {"<｜User｜>", ""},                                  \
    .assistant = {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"}, .place = GI_CHAT_PLACE_FRONT

// clang-format off
static const struct gi_chat_format formats[] = {
    // Qwen3: what an answer thought is left out once it is history.
    {.name = "qwen3",
     .tells = {"<|im_start|>", "last_query_index", "</think>", "reasoning_content.strip("},
     .denials = {"<function=", "<parameter=", "<param name="},
     CHATML_TURNS, .answer = "<|im_start|>assistant\n",
     .trims = GI_CHAT_TRIM_THINKING | GI_CHAT_TRIM_THINKING_LINE},
    {.name = "qwq",
     .tells = {"<|im_start|>assistant\\n<think>\\n", "split('</think>')[-1].lstrip('\\n')"},
     .denials = {"last_query_index", "<function="},
     CHATML_TURNS, .answer = "<|im_start|>assistant\n<think>\n",
     .trims = GI_CHAT_TRIM_THINKING | GI_CHAT_TRIM_LINES},
    {.name = "phi4",
     .tells = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
     .denials = {"<think>"},
     .system = {"<|im_start|>system<|im_sep|>", "<|im_end|>"},
     .user = {"<|im_start|>user<|im_sep|>", "<|im_end|>"},
     .assistant = {"<|im_start|>assistant<|im_sep|>", "<|im_end|>"},
     .answer = "<|im_start|>assistant<|im_sep|>"},
    {.name = "chatml-bos",
     .tells = {"<|im_start|>", "<|im_end|>", "bos_token"},
     .denials = {"## Metadata", "You are a function calling AI model", "</think>"},
     .begin = BOS, CHATML_TURNS, .answer = "<|im_start|>assistant\n",
     .default_system = GI_CHAT_DEFAULT_SOMETIMES},
    // Denied to SmolLM3, which puts the date and more into the system message, to templates that
    // are made for tools alone, and to those that think.
    {.name = "chatml",
     .tells = {"<|im_start|>", "<|im_end|>"},
     .denials = {"## Metadata", "You are a function calling AI model", "</think>", "<|im_sep|>"},
     CHATML_TURNS, .answer = "<|im_start|>assistant\n",
     .default_system = GI_CHAT_DEFAULT_SOMETIMES},
    // From 3.1 on the system message begins with the date.
    {.name = "llama3.1",
     .tells = {"<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date: December 2023",
               "set date_string = "},
     .begin = BOS,
     .system = {"<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December "
                "2023\nToday Date: " DATE "\n\n", "<|eot_id|>"},
     LLAMA3_TURNS, .place = GI_CHAT_PLACE_FRONT, .has_empty_system = true,
     .date_format = "%d %b %Y"},
    {.name = "llama3",
     .tells = {"<|start_header_id|>", "<|eot_id|>", "bos_token"},
     .denials = {"date_string", "tools", "function", "</think>"},
     .begin = BOS,
     .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
     LLAMA3_TURNS},
    {.name = "gemma3",
     .tells = {"<start_of_turn>", "<end_of_turn>", "first_user_prefix"},
     GEMMA_TURNS, .system = {"", "\n\n"},
     .trims = GI_CHAT_TRIM_USER | GI_CHAT_TRIM_ASSISTANT},
    // The template has no place for a system message, which is written as a user's.
    {.name = "gemma",
     .tells = {"<start_of_turn>", "<end_of_turn>", "System role not supported"},
     GEMMA_TURNS, .system = {"", "\n"},
     .trims = GI_CHAT_TRIM_USER_TURN | GI_CHAT_TRIM_ASSISTANT},
    {.name = "phi3",
     .tells = {"<|user|>", "<|end|>", "<|assistant|>", "<|system|>"},
     .denials = {"<|start|>", "<think>", "<tool_call>", "[content]"},
     .system = {"<|system|>\n", "<|end|>\n"}, PHI3_TURNS},
    // The first of Phi-3 has no place for a system message.
    {.name = "phi3-first",
     .tells = {"<|user|>", "<|end|>", "<|assistant|>"},
     .denials = {"<|start|>", "<think>", "<tool_call>", "<|system|>"},
     .begin = BOS, .system = {"", "\n"}, PHI3_TURNS, .place = GI_CHAT_PLACE_FIRST_USER},
    {.name = "zephyr",
     .tells = {"<|user|>", "<|system|>", "<|assistant|>", "eos_token"},
     .denials = {"<|end|>", "<think>", "bos_token", "[gMASK]"},
     .system = {"<|system|>\n", EOS "\n"}, .user = {"<|user|>\n", EOS "\n"},
     .assistant = {"<|assistant|>\n", EOS "\n"}, .answer = "<|assistant|>\n"},
    {.name = "llama2",
     .tells = {"bos_token + '[INST] ' + content.strip()", "<<SYS>>", "eos_token"},
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .user = {BOS "[INST] ", " [/INST]"}, .assistant = {" ", " " EOS}, .answer = "",
     .place = GI_CHAT_PLACE_FIRST_USER,
     .trims = GI_CHAT_TRIM_USER_TURN | GI_CHAT_TRIM_ASSISTANT},
    {.name = "mistral-v7",
     .tells = {"[SYSTEM_PROMPT] ", "[INST] "},
     .denials = {"[THINK]"},
     .begin = BOS, .system = {"[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]"},
     .user = {"[INST] ", "[/INST]"}, .assistant = {" ", EOS}, .answer = ""},
    {.name = "mistral-v7-tekken",
     .tells = {"[SYSTEM_PROMPT]", "[INST]", "set default_system_message = "},
     .denials = {"[THINK]"},
     .begin = BOS, .system = {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
     .user = {"[INST]", "[/INST]"}, .assistant = {"", EOS}, .answer = "",
     .default_system = GI_CHAT_DEFAULT_ALWAYS},
    {.name = "mistral-v3-tekken",
     .tells = {"\"[INST]\" + system_message", "loop.last and system_message is defined"},
     .begin = BOS, .system = {"", "\n\n"},
     .user = {"[INST]", "[/INST]"}, .assistant = {"", EOS}, .answer = "",
     .place = GI_CHAT_PLACE_LAST_USER},
    {.name = "mistral-v3",
     .tells = {"\"[INST] \" + system_message", "loop.last and system_message is defined"},
     .begin = BOS, .system = {"", "\n\n"},
     .user = {"[INST] ", "[/INST]"}, .assistant = {" ", EOS}, .answer = "",
     .place = GI_CHAT_PLACE_LAST_USER, .trims = GI_CHAT_TRIM_ASSISTANT},
    {.name = "mistral-v1",
     .tells = {" [INST] \" + system_message", "loop.first and system_message is defined"},
     .begin = BOS, .system = {"", "\n\n"},
     .user = {" [INST] ", " [/INST]"}, .assistant = {" ", EOS}, .answer = "",
     .place = GI_CHAT_PLACE_FIRST_USER},
    // The first of Mistral and Mixtral has no place for a system message.
    {.name = "mistral-first",
     .tells = {"'[INST] ' + message['content'] + ' [/INST]'", "message['content'] + eos_token"},
     .denials = {"eos_token + ' '", "system_message"},
     .begin = BOS, .system = {"", "\n"},
     .user = {"[INST] ", " [/INST]"}, .assistant = {"", EOS}, .answer = "",
     .place = GI_CHAT_PLACE_FIRST_USER},
    {.name = "granite-4.0",
     .tells = {"<|start_of_role|>", "<|end_of_role|>", "set g4_default_system_message = "},
     GRANITE_TURNS, .default_system = GI_CHAT_DEFAULT_ALWAYS},
    {.name = "granite",
     .tells = {"<|start_of_role|>", "<|end_of_role|>", "You are Granite, developed by IBM.",
               "set system_message = \"Knowledge Cutoff Date"},
     GRANITE_TURNS, .default_system = GI_CHAT_DEFAULT_ALWAYS},
    {.name = "deepseek-r1",
     .tells = {"<｜User｜>", "<｜Assistant｜><think>\\n", "split('</think>')[-1]"},
     .denials = {"flush_tool_outputs"},
     DEEPSEEK3_TURNS, .answer = "<｜Assistant｜><think>\n", .trims = GI_CHAT_TRIM_THINKING},
    // The first of R1 left it to the model to begin its thought.
    {.name = "deepseek-r1-first",
     .tells = {"<｜User｜>", "<｜Assistant｜>", "split('</think>')[-1]"},
     .denials = {"flush_tool_outputs", "<think>"},
     DEEPSEEK3_TURNS, .answer = "<｜Assistant｜>", .trims = GI_CHAT_TRIM_THINKING},
    {.name = "deepseek3",
     .tells = {"<｜User｜>", "<｜Assistant｜>"},
     .denials = {"<think>", "</think>", "'<｜User｜>' + message['content'] + '<｜end"},
     DEEPSEEK3_TURNS, .answer = "<｜Assistant｜>"},
    // The first DeepSeek LLM and V2.
    {.name = "deepseek2",
     .tells = {"'User: ' + message['content'] + '", "'Assistant: ' + message['content'] + eos_token",
               "bos_token"},
     .begin = BOS, .system = {"", "\n\n"},
     .user = {"User: ", "\n\n"}, .assistant = {"Assistant: ", EOS}, .answer = "Assistant:"},
};
// clang-format on

const struct gi_chat_format *gi_chat_format_at(size_t index)
{
    return index < sizeof(formats) / sizeof(formats[0]) ? &formats[index] : NULL;
}
