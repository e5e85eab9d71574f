// Weights with which the decoder of a speech model attends to the sound while it reads a text: the
// queries of its layers of cross-attention, copied while the list of a prompt runs, times the keys
// of the encoder. The CPU computes them, since it does so once a window, for few heads.
#pragma once

#include "engine/speech/speech_call.h"

struct gi_speech_align {
    struct glinfer_error *failure; // borrowed; what a function that fails writes
    float *queries;                // (n_cross, n_token, n_head * head_dim); owned
    size_t capacity;
    uint32_t n_cross, n_token;
    uint32_t layer; // of cross-attention, whose queries come next
};

// Accepts all-zero.
void gi_speech_align_finish(struct gi_speech_align *align);

// Makes room for the queries of n tokens. Fails with NO_MEMORY.
bool gi_speech_align_begin(struct gi_speech_align *align, const struct gi_hparams *decoder,
                           uint32_t n);
// Runs the decoder's list of prompts over a batch of tokens, as gi_speech_call_run does, and
// fetches their queries. Fails as gi_speech_call_run and gi_speech_call_fetch do.
enum gi_net_result gi_speech_align_run(struct gi_speech_align *align, struct gi_speech_call *call,
                                       const struct gi_step_state *state);
// Writes the weights of one head of a layer of cross-attention for n_key keys, (n_token, n_key).
// Fails with NO_MEMORY, GPU_LOST, DRIVER.
bool gi_speech_align_weigh(const struct gi_speech_align *align, struct glinfer_session *decoder,
                           uint32_t layer, uint32_t head, uint32_t n_key, float *weights);
