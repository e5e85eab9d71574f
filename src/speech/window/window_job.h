// Takes one window from its spectrogram to its tokens and their times: encodes it, detects the
// language, and decodes at rising temperatures until a text passes. One call of the network a step.
#pragma once

#include "speech/transcriber.h"
#include "speech/window/window_decoder.h"

struct gi_window_job {
    const struct gi_speech_net *net;                   // borrowed
    const struct glinfer_transcription_params *params; // borrowed
    const struct gi_whisper_id_list *initial; // tokens before every window, or NULL. Borrowed
    const struct gi_whisper_id_list *past;    // tokens of earlier windows. Borrowed
    struct gi_window_decoder decoder;         // its net, choice and settings are set
    float *mel;                               // (2 * n_audio_ctx, n_mel) frames; owned
    uint32_t *prompt;                         // (n_text_ctx); owned
    struct gi_token_time *times;              // (n_text_ctx) of the best beam's tokens; owned

    // Settings of the window, set before gi_window_job_begin.
    uint32_t seek, end;  // frames: its start and the end of the sound
    uint32_t n_frame;    // to encode, of mel
    int32_t language;    // -1: to be detected
    bool is_partial;     // one attempt, no times
    bool is_past_useful; // `past` may be given to it

    // Its state and results.
    enum { GI_JOB_ENCODE, GI_JOB_DETECT, GI_JOB_DECODE, GI_JOB_ALIGN, GI_JOB_OVER } stage;
    float temperature;
    uint32_t n_prompt, n_past;  // tokens before the window, and those of `past` among them
    float language_probability; // 0: it was not detected
    struct gi_beam *best;
    bool is_silent; // its text is not told
    bool has_times;
};

// The borrowed members are set. Fails with NO_MEMORY.
bool gi_window_job_init(struct gi_window_job *job);
void gi_window_job_finish(struct gi_window_job *job);

void gi_window_job_begin(struct gi_window_job *job);
// Returns GI_NET_DONE when the job is over, GI_NET_BUSY while it is not. Fails as the network does,
// and with NO_MEMORY; then the job is to be begun again.
enum gi_net_result gi_window_job_step(struct gi_window_job *job);
