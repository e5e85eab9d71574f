// Decodes the tokens of one window at one temperature: greedy, by beam search, or the best of
// several random texts. One call of the network a step.
#pragma once

#include "speech/speech_net.h"
#include "speech/whisper_rules.h"
#include "speech/window/whisper_choice.h"

enum { GI_MAX_BEAMS = 16 };

// A text in progress.
struct gi_beam {
    struct gi_whisper_window window;
    enum gi_whisper_progress progress;
    double sum;      // of the log-probabilities of all tokens
    uint32_t seq;    // of the network, also its row of logits
    uint32_t parent; // the beam that it continues
};

struct gi_window_decoder {
    const struct gi_speech_net *net; // borrowed
    struct gi_whisper_choice choice; // of tokens; the temperature is that of the attempt
    float entropy_least; // longer texts than GI_WHISPER_ENTROPY_TOKENS with less have failed
    uint64_t seed;       // of random numbers

    // Settings of the attempt, set before gi_window_decoder_begin.
    const uint32_t *prompt; // borrowed
    uint32_t n_prompt;
    uint32_t n_wanted; // beams, 1 to n_seq and GI_MAX_BEAMS

    float no_speech;              // probability that the window has no speech
    float *logits;                // (n_seq, n_vocab); owned
    struct gi_beam *beams, *next; // (n_seq); owned
    bool *is_taken;               // (n_seq) sequences; owned
    uint32_t n_beam;              // 0: the prompt is to be decoded
    uint32_t at;                  // the beam that is decoded next
};

// net, choice.ids and the settings are set. Fails with NO_MEMORY.
bool gi_window_decoder_init(struct gi_window_decoder *decoder);
void gi_window_decoder_finish(struct gi_window_decoder *decoder);

// Starts an attempt at a window, of which seek, end, max_tokens and without_times are set.
void gi_window_decoder_begin(struct gi_window_decoder *decoder,
                             const struct gi_whisper_window *window, float temperature);
// Decodes the prompt, or the latest token of one beam or of all. *is_over is set when every beam
// has ended. Fails as the network does, and with GPU_FAULT (no logit is a number), NO_MEMORY.
enum gi_net_result gi_window_decoder_step(struct gi_window_decoder *decoder, bool *is_over);
// Returns the best beam of an attempt that is over: its progress is FAILED if all beams failed.
struct gi_beam *gi_window_decoder_best(struct gi_window_decoder *decoder);
