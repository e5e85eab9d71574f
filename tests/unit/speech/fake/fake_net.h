// A speech network whose logits a test writes, over a real vocabulary's size: it counts its calls,
// checks them, and fails on demand.
#pragma once

#include "speech/model/whisper_model.h"
#include "speech/speech_net.h"

enum {
    FAKE_N_SEQ = 4,
    FAKE_N_MEL = 3,
    FAKE_N_POSITION = 1500,
    FAKE_N_CONTEXT = 448,
    FAKE_N_WINDOW = 16, // the latest, recorded
};

struct fake_net;
// Writes the logits after the tokens of a text, which follow those that begin a transcript. All
// logits are -20 before.
typedef void (*fake_logits)(struct fake_net *fake, const uint32_t *tokens, uint32_t n,
                            float *logits);

// An encoded window.
struct fake_window {
    uint32_t n_frame;
    uint32_t n_loud;                           // frames that are not silence
    uint32_t n_attempt;                        // prompts
    uint32_t prompt[FAKE_N_CONTEXT], n_prompt; // of the latest attempt
};

struct fake_net {
    struct gi_speech_net net;
    struct glinfer_error failure; // net writes
    struct gi_whisper_ids ids;
    fake_logits logits;
    const void *story; // for logits
    uint32_t language; // index that is detected
    float no_speech;   // logit after a prompt
    struct {
        uint32_t tokens[FAKE_N_CONTEXT], n;
    } seqs[FAKE_N_SEQ];
    struct fake_window windows[FAKE_N_WINDOW];
    uint32_t n_window, n_decode, n_copy, n_align, n_detected, n_together, n_write;
    uint32_t n_call, failed_call; // the call of this number fails, from 1; 0: none
    bool is_often_busy;
    bool was_busy;
};

void fake_net_init(struct fake_net *fake, uint32_t n_vocab, fake_logits logits, const void *story);

// Decodes tokens of several sequences together, if it is made a function of the network.
enum gi_net_result fake_decode_each(void *user, const uint32_t *seqs, uint32_t n, uint32_t n_past,
                                    const uint32_t *tokens, float *const *logits);

// Chooses tokens, past the end of the text, too, if it is made a function of the network.
enum gi_net_result fake_write(void *user, const struct gi_net_text *text,
                              struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                              float *no_speech);

// A text that goes on with the same tokens whatever came before.
struct fake_story {
    const uint32_t *tokens; // of one window; ends with 0
    const uint32_t *next;   // of the windows after it; NULL: the same
};
void fake_tell(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits);

// The CPU's half of a model: the ids of single bytes are the bytes, these follow.
enum {
    T_THE = 256,  // " the"
    T_CAT,        // " cat"
    T_SAT,        // " sat"
    T_NOTE,       // " ♪"
    T_EURO_BEGIN, // the first two bytes of a euro sign
    T_ON,         // "on"
    T_TH,         // "th"
    T_THE_ALONE,  // "the"
    T_SPACE_T,    // " t"
};
void fake_model_init(struct gi_whisper_model *model, uint32_t n_vocab);
