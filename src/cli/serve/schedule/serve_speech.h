// A request to transcribe sound: its settings, its upload, and the transcript that grows. The
// connection makes it, the thread of the GPU uses it up to the end of the answer, and the
// connection reads the transcript after that.
#pragma once

#include "cli/speech/cli_sound.h"
#include "cli/speech/cli_transcript.h"

enum serve_speech_format {
    SERVE_SPEECH_JSON,
    SERVE_SPEECH_TEXT,
    SERVE_SPEECH_SRT,
    SERVE_SPEECH_VTT,
    SERVE_SPEECH_VERBOSE,
};

struct serve_speech {
    struct glinfer_transcription_params params; // texts are borrowed from the task's body
    int format;                                 // enum serve_speech_format
    bool is_stream;                 // the text of each segment is sent as an event TOKEN
    bool has_vad;                   // uses the server's network that finds speech, if there is one
    bool no_context, only_language; // of the request: only_language ends when the language is known
    int64_t max_context;            // tokens of earlier text; below 0: all that fit
    int64_t from_ms, duration_ms;   // part of the sound
    struct cli_bytes upload;
    struct cli_sound *sound; // reads the upload; owned. NULL: the sound is in samples
    struct cli_samples samples;
    uint64_t n_sample; // samples read so far
    const char *note;  // the damage of a sound that was read; borrowed from sound. NULL: none
    char language[16]; // the detected language; "": none was detected
    float language_probability;
    struct cli_segments segments;
};

// Accepts NULL.
void serve_speech_destroy(struct serve_speech *speech);
// Reads the next samples, as cli_sound_next does; reading speech->samples never fails. At the end
// of a damaged sound it sets the note and prints it as a warning.
bool serve_speech_read(struct serve_speech *speech, const float **samples, size_t *n,
                       struct glinfer_error *err);
// Adds an event to the transcript.
void serve_speech_add(struct serve_speech *speech, const struct glinfer_transcript_event *event);
