#include "tokenizer/chat/chat_format.h"

// clang-format off

// Pieces of templates. FOLD keeps a system message for the user's turn that it is written in.
#define BOS          "{{ bos_token }}"
#define ANSWER(text) "{% if add_generation_prompt %}{{ '" text "' }}{% endif %}"
#define EACH(turn)   "{% for m in messages %}{{ " turn " }}{% endfor %}"
#define ROLES(system, user, assistant) \
    EACH(user " if m.role == 'user' else " assistant " if m.role == 'assistant' else " system)
#define FOLD(before, after) \
    "{% set is_told = messages and messages[0].role == 'system' %}" \
    "{% set ns = namespace(told='" before "' + messages[0].content + '" after "' if is_told else '') %}"
#define TURNS(user, assistant) \
    "{% for m in messages[1 if is_told else 0:] %}{{ " user " if m.role == 'user' else " assistant " }}" \
    "{% set ns.told = '' if m.role == 'user' else ns.told %}{% endfor %}"

#define CHATML(content) EACH("'<|im_start|>' + m.role + '\n' + " content " + '<|im_end|>\n'")
#define LLAMA3 \
    "'<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>'"
#define LLAMA3_ANSWER ANSWER("<|start_header_id|>assistant<|end_header_id|>\n\n")
#define GEMMA(user) \
    TURNS("'<start_of_turn>user\n' + " user " + '<end_of_turn>\n'", \
          "'<start_of_turn>model\n' + m.content | trim + '<end_of_turn>\n'") \
    ANSWER("<start_of_turn>model\n")
#define GRANITE \
    EACH("'<|start_of_role|>' + m.role + '<|end_of_role|>' + m.content + '<|end_of_text|>\n'") \
    ANSWER("<|start_of_role|>assistant<|end_of_role|>")
#define DEEPSEEK3(content) \
    BOS ROLES("m.content", "'<｜User｜>' + m.content", \
              "'<｜Assistant｜>' + " content " + '<｜end▁of▁sentence｜>'")
#define AFTER_THOUGHTS "m.content.split('</think>')[-1]"

static const struct gi_chat_format formats[] = {
    // Qwen3: what an answer thought is left out once it is history.
    {.name = "qwen3",
     .tells = {"<|im_start|>", "last_query_index", "</think>", "reasoning_content.strip("},
     .denials = {"<function=", "<parameter=", "<param name="},
     .jinja = CHATML("(" AFTER_THOUGHTS ".lstrip('\n') if m.role == 'assistant' and "
                     "'</think>' in m.content else m.content)")
              ANSWER("<|im_start|>assistant\n")},
    {.name = "qwq",
     .tells = {"<|im_start|>assistant\\n<think>\\n", "split('</think>')[-1].lstrip('\\n')"},
     .denials = {"last_query_index", "<function="},
     .jinja = CHATML("(" AFTER_THOUGHTS ".lstrip('\n') if m.role == 'assistant' else m.content)")
              ANSWER("<|im_start|>assistant\n<think>\n")},
    {.name = "phi4",
     .tells = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
     .denials = {"<think>"},
     .jinja = EACH("'<|im_start|>' + m.role + '<|im_sep|>' + m.content + '<|im_end|>'")
              ANSWER("<|im_start|>assistant<|im_sep|>")},
    {.name = "chatml-bos",
     .tells = {"<|im_start|>", "<|im_end|>", "bos_token"},
     .denials = {"## Metadata", "You are a function calling AI model", "</think>"},
     .jinja = BOS CHATML("m.content") ANSWER("<|im_start|>assistant\n"),
     .default_system = GI_CHAT_DEFAULT_SOMETIMES},
    // Denied to SmolLM3, which puts the date and more into the system message, to templates that
    // are made for tools alone, and to those that think.
    {.name = "chatml",
     .tells = {"<|im_start|>", "<|im_end|>"},
     .denials = {"## Metadata", "You are a function calling AI model", "</think>", "<|im_sep|>"},
     .jinja = CHATML("m.content") ANSWER("<|im_start|>assistant\n"),
     .default_system = GI_CHAT_DEFAULT_SOMETIMES},
    // From 3.1 on the system message begins with the date.
    {.name = "llama3.1",
     .tells = {"<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date: December 2023",
               "set date_string = "},
     .jinja = FOLD("", "")
              "{{ bos_token + '<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
              "December 2023\nToday Date: ' + strftime_now('%d %b %Y') + '\n\n' + ns.told | trim + "
              "'<|eot_id|>' }}" TURNS(LLAMA3, LLAMA3) LLAMA3_ANSWER,
     .is_system_first = true},
    {.name = "llama3",
     .tells = {"<|start_header_id|>", "<|eot_id|>", "bos_token"},
     .denials = {"date_string", "tools", "function", "</think>"},
     .jinja = BOS EACH(LLAMA3) LLAMA3_ANSWER},
    {.name = "gemma3",
     .tells = {"<start_of_turn>", "<end_of_turn>", "first_user_prefix"},
     .jinja = BOS FOLD("", "\n\n") GEMMA("ns.told + m.content | trim"), .is_system_first = true},
    // The template has no place for a system message, which is written as a user's.
    {.name = "gemma",
     .tells = {"<start_of_turn>", "<end_of_turn>", "System role not supported"},
     .jinja = BOS FOLD("", "\n") GEMMA("(ns.told + m.content) | trim"), .is_system_first = true},
    {.name = "phi3",
     .tells = {"<|user|>", "<|end|>", "<|assistant|>", "<|system|>"},
     .denials = {"<|start|>", "<think>", "<tool_call>", "[content]"},
     .jinja = EACH("'<|' + m.role + '|>\n' + m.content + '<|end|>\n'") ANSWER("<|assistant|>\n")},
    // The first of Phi-3 has no place for a system message.
    {.name = "phi3-first",
     .tells = {"<|user|>", "<|end|>", "<|assistant|>"},
     .denials = {"<|start|>", "<think>", "<tool_call>", "<|system|>"},
     .jinja = BOS FOLD("", "\n")
              TURNS("'<|user|>\n' + ns.told + m.content + '<|end|>\n'",
                    "'<|assistant|>\n' + m.content + '<|end|>\n'")
              ANSWER("<|assistant|>\n"),
     .is_system_first = true},
    {.name = "zephyr",
     .tells = {"<|user|>", "<|system|>", "<|assistant|>", "eos_token"},
     .denials = {"<|end|>", "<think>", "bos_token", "[gMASK]"},
     .jinja = EACH("'<|' + m.role + '|>\n' + m.content + eos_token + '\n'")
              ANSWER("<|assistant|>\n")},
    {.name = "llama2",
     .tells = {"bos_token + '[INST] ' + content.strip()", "<<SYS>>", "eos_token"},
     .jinja = FOLD("<<SYS>>\n", "\n<</SYS>>\n\n")
              TURNS("bos_token + '[INST] ' + (ns.told + m.content) | trim + ' [/INST]'",
                    "' ' + m.content | trim + ' ' + eos_token"),
     .is_system_first = true},
    {.name = "mistral-v7",
     .tells = {"[SYSTEM_PROMPT] ", "[INST] "},
     .denials = {"[THINK]"},
     .jinja = BOS ROLES("'[SYSTEM_PROMPT] ' + m.content + '[/SYSTEM_PROMPT]'",
                        "'[INST] ' + m.content + '[/INST]'", "' ' + m.content + eos_token")},
    {.name = "mistral-v7-tekken",
     .tells = {"[SYSTEM_PROMPT]", "[INST]", "set default_system_message = "},
     .denials = {"[THINK]"},
     .jinja = BOS ROLES("'[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]'",
                        "'[INST]' + m.content + '[/INST]'", "m.content + eos_token"),
     .default_system = GI_CHAT_DEFAULT_ALWAYS},
    // The third versions write the system message in the user's turn that ends the chat.
    {.name = "mistral-v3-tekken",
     .tells = {"\"[INST]\" + system_message", "loop.last and system_message is defined"},
     .jinja = BOS FOLD("", "\n\n") "{% set told = ns.told %}"
              TURNS("'[INST]' + (told if loop.last else '') + m.content + '[/INST]'",
                    "m.content + eos_token"),
     .is_system_first = true},
    {.name = "mistral-v3",
     .tells = {"\"[INST] \" + system_message", "loop.last and system_message is defined"},
     .jinja = BOS FOLD("", "\n\n") "{% set told = ns.told %}"
              TURNS("'[INST] ' + (told if loop.last else '') + m.content + '[/INST]'",
                    "' ' + m.content | trim + eos_token"),
     .is_system_first = true},
    {.name = "mistral-v1",
     .tells = {" [INST] \" + system_message", "loop.first and system_message is defined"},
     .jinja = BOS FOLD("", "\n\n")
              TURNS("' [INST] ' + ns.told + m.content + ' [/INST]'", "' ' + m.content + eos_token"),
     .is_system_first = true},
    // The first of Mistral and Mixtral has no place for a system message.
    {.name = "mistral-first",
     .tells = {"'[INST] ' + message['content'] + ' [/INST]'", "message['content'] + eos_token"},
     .denials = {"eos_token + ' '", "system_message"},
     .jinja = BOS FOLD("", "\n")
              TURNS("'[INST] ' + ns.told + m.content + ' [/INST]'", "m.content + eos_token"),
     .is_system_first = true},
    {.name = "granite-4.0",
     .tells = {"<|start_of_role|>", "<|end_of_role|>", "set g4_default_system_message = "},
     .jinja = GRANITE, .default_system = GI_CHAT_DEFAULT_ALWAYS},
    {.name = "granite",
     .tells = {"<|start_of_role|>", "<|end_of_role|>", "You are Granite, developed by IBM.",
               "set system_message = \"Knowledge Cutoff Date"},
     .jinja = GRANITE, .default_system = GI_CHAT_DEFAULT_ALWAYS},
    {.name = "deepseek-r1",
     .tells = {"<｜User｜>", "<｜Assistant｜><think>\\n", "split('</think>')[-1]"},
     .denials = {"flush_tool_outputs"},
     .jinja = DEEPSEEK3(AFTER_THOUGHTS) ANSWER("<｜Assistant｜><think>\n"), .is_system_first = true},
    // The first of R1 left it to the model to begin its thought.
    {.name = "deepseek-r1-first",
     .tells = {"<｜User｜>", "<｜Assistant｜>", "split('</think>')[-1]"},
     .denials = {"flush_tool_outputs", "<think>"},
     .jinja = DEEPSEEK3(AFTER_THOUGHTS) ANSWER("<｜Assistant｜>"), .is_system_first = true},
    {.name = "deepseek3",
     .tells = {"<｜User｜>", "<｜Assistant｜>"},
     .denials = {"<think>", "</think>", "'<｜User｜>' + message['content'] + '<｜end"},
     .jinja = DEEPSEEK3("m.content") ANSWER("<｜Assistant｜>"), .is_system_first = true},
    // The first DeepSeek LLM and V2.
    {.name = "deepseek2",
     .tells = {"'User: ' + message['content'] + '", "'Assistant: ' + message['content'] + eos_token",
               "bos_token"},
     .jinja = BOS ROLES("m.content + '\n\n'", "'User: ' + m.content + '\n\n'",
                        "'Assistant: ' + m.content + eos_token")
              ANSWER("Assistant:")},
};
// clang-format on

const struct gi_chat_format *gi_chat_format_at(size_t index)
{
    return index < sizeof(formats) / sizeof(formats[0]) ? &formats[index] : NULL;
}
