// Builds files of whisper.cpp in memory, on top of gguf_builder.h.
#ifndef TESTS_UNIT_BIN_BUILDER_H
#define TESTS_UNIT_BIN_BUILDER_H

#include "tests/unit/gguf/gguf_builder.h"

// Magic and head of a Silero network; tensors are to follow.
void bin_silero(struct gguf_builder *b);
// The head of a tensor; its data is to follow.
void bin_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, const uint32_t *dims,
                uint32_t type);

#endif
