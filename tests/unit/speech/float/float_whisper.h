// Whisper on the CPU as the paper describes it, in float with sums in double: the reference for
// encoders and decoders that are fast. Reads all weight types that gi_quant has.
#ifndef TESTS_UNIT_SPEECH_FLOAT_WHISPER_H
#define TESTS_UNIT_SPEECH_FLOAT_WHISPER_H

#include "gguf/gguf.h"
#include "speech/speech_net.h"

struct float_whisper;

// Reads the weights; ends the program if one is missing.
struct float_whisper *float_whisper_create(const struct gi_gguf *file, uint32_t n_seq);
void float_whisper_destroy(struct float_whisper *whisper);
// Returns its functions.
struct gi_speech_net float_whisper_net(struct float_whisper *whisper);
// Returns the encoder's output for the latest window, (n_frame / 2, n_embd).
const float *float_whisper_encoded(const struct float_whisper *whisper);

#endif
