#include "tests/unit/gguf/bin_builder.h"

#include <stdio.h>
#include <string.h>

#define MAGIC 0x67676d6cu // "ggml"

void bin_whisper(struct gguf_builder *b, const uint32_t sizes[11], uint32_t n_tokens)
{
    enum { MEL_COUNT = 9, N_BINS = 201 };
    gguf_u32(b, MAGIC);
    gguf_bytes(b, sizes, 11 * sizeof(sizes[0]));
    gguf_u32(b, sizes[MEL_COUNT]);
    gguf_u32(b, N_BINS);
    for (uint32_t i = 0; i < sizes[MEL_COUNT] * N_BINS; i++) {
        gguf_f32(b, (float)i);
    }
    gguf_u32(b, n_tokens);
    for (uint32_t i = 0; i < n_tokens; i++) {
        char text[12];
        const uint32_t size = (uint32_t)snprintf(text, sizeof(text), "%u", i);
        gguf_u32(b, size);
        gguf_bytes(b, text, size);
    }
}

void bin_silero(struct gguf_builder *b)
{
    static const char kind[] = "silero-16k";
    static const uint32_t sizes[] = {
        6,   2,   0,      // version
        512, 64,          // window, context
        4,                // layers of the encoder: input, output, taps
        129, 128, 3,      //
        128, 64,  3,      //
        64,  64,  3,      //
        64,  128, 3,      //
        128, 128, 128, 1, // LSTM, last layer
    };
    gguf_u32(b, MAGIC);
    gguf_u32(b, sizeof(kind) - 1);
    gguf_bytes(b, kind, sizeof(kind) - 1);
    gguf_bytes(b, sizes, sizeof(sizes));
}

void bin_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, const uint32_t *dims,
                uint32_t type)
{
    gguf_u32(b, n_dims);
    gguf_u32(b, (uint32_t)strlen(name));
    gguf_u32(b, type);
    for (uint32_t i = 0; i < n_dims; i++) {
        gguf_u32(b, dims[i]);
    }
    gguf_bytes(b, name, strlen(name));
}
