// Voice activity detection with the Silero network: the probability that 32 ms of sound contain
// speech. Runs on the CPU in a fraction of a millisecond. The network is immutable after creation,
// so threads may share it; each stream has a state of its own.
//   https://github.com/snakers4/silero-vad (MIT)
#pragma once

#include "base/error.h"

#include <stdint.h>

enum {
    GI_VAD_RATE = 16000,   // samples a second
    GI_VAD_WINDOW = 512,   // samples of one probability
    GI_VAD_N_HIDDEN = 128, // of the LSTM
};

struct gi_gguf;
struct gi_vad;

// The state of one stream between windows; all zero at its start.
struct gi_vad_state {
    float hidden[GI_VAD_N_HIDDEN], cell[GI_VAD_N_HIDDEN];
};

// Reads the network's weights; the file is not needed afterwards. Fails with BAD_FILE (a missing
// tensor, or one of another size or type), IO, NO_MEMORY.
struct gi_vad *gi_vad_create(const struct gi_gguf *file, struct glinfer_error *err);
// Accepts NULL.
void gi_vad_destroy(struct gi_vad *vad);

// Returns the probability of speech, 0 to 1, in the next GI_VAD_WINDOW samples of a stream. Samples
// that are not finite, or beyond 2^15, count as 0: the state would keep their traces.
float gi_vad_next(const struct gi_vad *vad, struct gi_vad_state *state, const float *samples);
