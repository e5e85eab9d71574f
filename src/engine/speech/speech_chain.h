// Greedy texts of a speech model: chains of steps whose tokens the GPU chooses under Whisper's
// rules (ops/sample/speech_choice.h), with one wait a chain.
#pragma once

#include "engine/speech/speech_towers.h"

// The write of a network whose user is struct gi_speech_towers: chooses as many tokens as fit the
// time that is left, and on devices that run steps after the end in vain, few.
enum gi_net_result gi_speech_write(void *user, const struct gi_net_text *text,
                                   struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                                   float *no_speech);
