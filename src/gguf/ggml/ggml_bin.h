// Files of whisper.cpp: a Whisper model or the Silero network that detects speech. Their header
// becomes metadata, under names that GGUF files of such models would have. Private to this folder.
//   whisper.cpp, models/convert-pt-to-ggml.py and models/convert-silero-vad-to-ggml.py
#pragma once

#include "gguf/gguf_file.h"

// Tells whether a file begins as such files do.
bool gi_ggml_bin_is(struct gi_gguf_reader *r);
// Fills pairs and tensors of gguf. Fails as gi_gguf_open does.
//
// Keys of a Whisper model: general.architecture "whisper", general.file_type, whisper.vocab_size,
// whisper.mel_count, whisper.mel_filters (f32, (mel_count, 201)), whisper.{encoder,decoder}.
// {context_length,embedding_length,attention.head_count,block_count}, tokenizer.ggml.tokens (bytes,
// without the special tokens at the end of the vocabulary).
// Keys of the Silero network: general.architecture "silero-vad", general.version.
bool gi_ggml_bin_read(struct gi_gguf *gguf, struct gi_gguf_reader *r);
