// Greedy texts of a speech model: chains of steps whose tokens the GPU chooses under Whisper's
// rules (ops/sample/speech_choice.h), with one wait a chain.
#pragma once

#include "engine/speech/speech_towers.h"
#include "speech/speech_net.h"

// Chooses tokens as struct gi_speech_net's write does: as many as fit the time that is left, and on
// devices that run steps after the end in vain, few. Fails as gi_speech_decode does.
enum gi_net_result gi_speech_write(struct gi_speech_towers *towers, const struct gi_net_text *text,
                                   struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                                   float *no_speech);
