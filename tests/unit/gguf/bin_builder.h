// Builds files of whisper.cpp in memory, on top of gguf_builder.h.
#pragma once

#include "tests/unit/gguf/gguf_builder.h"

// Magic, the 11 numbers of a Whisper model's head, filters whose weights count up, and n_tokens
// tokens, which are their own numbers as text; tensors are to follow. n_mel is the tenth number.
void bin_whisper(struct gguf_builder *b, const uint32_t sizes[11], uint32_t n_tokens);
// Magic and head of a Silero network; tensors are to follow.
void bin_silero(struct gguf_builder *b);
// The head of a tensor; its data is to follow.
void bin_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, const uint32_t *dims,
                uint32_t type);
