// The flags of LoRA adapters.
#pragma once

#include "glinfer.h"

#include <stdbool.h>

enum { CLI_MAX_LORA = 16 };

// The largest magnitude of a scale: products that overflow end an answer, and the server would
// bring the device back.
#define CLI_MAX_LORA_SCALE 100

struct cli_lora_flags {
    const char *paths[CLI_MAX_LORA]; // kept until the end of the process
    float scales[CLI_MAX_LORA];
    uint32_t n;
    bool is_off;    // the scales are 0 until they are set
    bool is_merged; // into the weights
};

// Rows of a flag table for settings with a field `session` of struct cli_session_flags.
#define CLI_LORA_FLAGS                                                                             \
    CLI_CUSTOM(                                                                                    \
        session.lora, cli_parse_lora, "--lora", "FILES",                                           \
        "LoRA adapters of the model, GGUF files or folders of PEFT with commas between them"),     \
        CLI_CUSTOM(session.lora, cli_parse_lora_scaled, "--lora-scaled", "FILES",                  \
                   "the same with a scale each: a.gguf:0.5,b.gguf:2; 0 removes the effect, "       \
                   "not the cost"),                                                                \
        CLI_SWITCH(session.lora.is_merged, "--lora-merge",                                         \
                   "add the only adapter to the weights while they are loaded")

// Append adapters to *field, a struct cli_lora_flags: "F,F" and "F:S,F:S".
bool cli_parse_lora(const char *text, void *field, char *why, size_t size);
bool cli_parse_lora_scaled(const char *text, void *field, char *why, size_t size);

// Returns false, with the reason printed, if there is no adapter to merge.
bool cli_lora_check(const struct cli_lora_flags *flags);

// Sets the adapters of params; they live until the next call.
void cli_lora_fill(const struct cli_lora_flags *flags, struct glinfer_model_params *params);
