// The weights of a Whisper file in float, for float_whisper.c.
#ifndef TESTS_UNIT_SPEECH_FLOAT_WEIGHTS_H
#define TESTS_UNIT_SPEECH_FLOAT_WEIGHTS_H

#include "gguf/gguf.h"

struct linear {
    float *weight, *bias; // (n_out, n_in), (n_out); no bias: NULL
    uint32_t n_in, n_out;
};

struct norm {
    float *weight, *bias;
};

struct attention {
    struct norm norm;
    struct linear query, key, value, out;
};

struct block {
    struct attention self, cross; // cross: the decoder's
    struct norm norm;
    struct linear up, down;
};

struct tower {
    uint32_t n_ctx, n_embd, n_head, n_layer;
    float *positions; // (n_ctx, n_embd)
    struct block *blocks;
    struct norm norm;
};

struct float_weights {
    uint32_t n_vocab, n_mel;
    struct tower encoder, decoder;
    struct linear convs[2]; // (n_embd, 3 * n_in): tap after tap
    struct linear tokens;   // embeddings, and the head
};

// calloc that ends the program.
void *float_allocate(size_t count, size_t size);
// Reads all weights; ends the program if one is missing.
void float_weights_read(struct float_weights *weights, const struct gi_gguf *file);
void float_weights_free(struct float_weights *weights);

#endif
