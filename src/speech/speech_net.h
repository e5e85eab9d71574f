// The network of a Whisper model as the transcriber calls it: an encoder that reads a window of
// sound, and a decoder that keeps several sequences of tokens over that window. Whoever runs the
// network fills the table.
#pragma once

#include "speech/window/whisper_choice.h"

enum gi_net_result {
    GI_NET_FAILED,
    GI_NET_DONE,
    GI_NET_BUSY, // call again with the same arguments, after other work, or drop the call
};

// A text whose next tokens a network chooses itself, each the most likely one.
struct gi_net_text {
    uint32_t seq, n_past;                   // the tokens of the sequence that are kept
    const uint32_t *tokens;                 // (n) that come next, before those that are chosen
    uint32_t n;                             // 1 but after a prompt
    const struct gi_whisper_window *window; // the tokens that were chosen before
    const struct gi_whisper_choice *choice; // its suppressed is not NULL, the temperature is 0
};
enum { GI_NET_TOKENS = 32 }; // that it chooses in a call, at most

struct gi_speech_net {
    void *user;                    // first argument of every function
    struct glinfer_error *failure; // borrowed; what a function that fails writes
    uint32_t n_vocab;
    uint32_t n_mel;           // bands of the spectrogram
    uint32_t n_audio_ctx;     // positions of the encoder, each of two frames
    uint32_t n_text_ctx;      // tokens of a sequence
    uint32_t n_layer, n_head; // of the decoder
    uint32_t n_seq;           // sequences, at least 1

    // Gives up a call that was busy, since another window follows. May be NULL.
    void (*drop)(void *user);
    // Encodes n_frame frames (even, 2 * n_seq to 2 * n_audio_ctx) of the scaled log-mel
    // spectrogram, mel: (n_frame, n_mel). All sequences are over the latest encoded window. May set
    // decode_each and write, or make them NULL.
    enum gi_net_result (*encode)(void *user, const float *mel, uint32_t n_frame);
    // Cuts sequence `seq` to its first n_past tokens, appends n tokens, and writes the logits after
    // the last one, (n_vocab).
    enum gi_net_result (*decode)(void *user, uint32_t seq, uint32_t n_past, const uint32_t *tokens,
                                 uint32_t n, float *logits);
    // Appends one token to each of n sequences of n_past tokens, and writes the logits after it to
    // logits[i], (n_vocab). May be NULL: then decode does so for one after the other.
    enum gi_net_result (*decode_each)(void *user, const uint32_t *seqs, uint32_t n, uint32_t n_past,
                                      const uint32_t *tokens, float *const *logits);
    // Chooses the next tokens of a text under its window's rules, at least one: to the end of the
    // window, or as many as suit. *no_speech: the probability of that token before all of them,
    // written if the window has no token. May be NULL: then decode does so token by token.
    enum gi_net_result (*write)(void *user, const struct gi_net_text *text,
                                struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                                float *no_speech);
    // Makes sequence `to` a copy of the first n_past tokens of `from`. May be NULL if n_seq is 1.
    bool (*copy)(void *user, uint32_t to, uint32_t from, uint32_t n_past);
    // Makes n tokens the text of sequence 0, for align. NULL: the network does not align.
    enum gi_net_result (*attend)(void *user, const uint32_t *tokens, uint32_t n);
    // Writes the weights with which one head attends to the sound, for the n tokens of the latest
    // call of attend: (n, n_frame / 2), each row with the sum 1.
    bool (*align)(void *user, uint32_t layer, uint32_t head, float *weights);
};
