// The names that GGUF files would have for the tensors of a Whisper model. Private to this folder.
//
// The encoder's begin with "enc.", the decoder's with nothing. A layer of the decoder is two: layer
// 2 i is its self-attention, layer 2 i + 1 its cross-attention and network. Keys and values of
// cross-attention depend on the encoder's output alone, so they follow the encoder's layers.
#pragma once

#include "gguf/gguf.h"

enum { GI_WHISPER_NAME_SIZE = 64 };

// Writes the new name of a tensor and returns true; false for a name that is not one of Whisper's.
// n_layer: of the encoder.
bool gi_whisper_name(struct gi_gguf_string name, uint32_t n_layer, char out[GI_WHISPER_NAME_SIZE]);
