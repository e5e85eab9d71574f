// Finds when tokens were spoken, from the attention of the decoder to the sound: heads that are
// known to follow speech are averaged, and dynamic time warping finds the path through them.
//   openai-whisper, timing.py and the alignment heads of its models
#pragma once

#include "speech/speech_net.h"

#include <stddef.h>

// Frames of 10 ms since the start of a window.
struct gi_token_time {
    uint32_t from, to;
};

// Finds times of text tokens, which the network has just decoded: n_before tokens that begin a
// transcript, n_text tokens of text, one that ends it. n_frame: encoded; n_sound: those of the
// sound. Writes n_text times. Fails as the network does, and with NO_MEMORY.
bool gi_word_times_find(const struct gi_speech_net *net, uint32_t n_before, uint32_t n_text,
                        uint32_t n_frame, uint32_t n_sound, struct gi_token_time *times);

// Finds the path of least cost through cost, (n_row, n_column), from its first element to its last:
// writes the column at which each row begins, (n_row). Fails with NO_MEMORY.
bool gi_time_warp(const float *cost, uint32_t n_row, uint32_t n_column, uint32_t *begins,
                  struct glinfer_error *err);
