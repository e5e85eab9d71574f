// One sound becomes a transcript: reads it, transcribes it piece by piece, and prints the text as
// it comes.
#ifndef CLI_HEARING_H
#define CLI_HEARING_H

#include "cli/common/cli_session.h"
#include "cli/speech/cli_microphone.h"
#include "cli/speech/cli_sound.h"
#include "cli/speech/cli_transcript.h"

// A sound that is transcribed, and its transcript.
struct cli_hearing {
    struct glinfer_transcription *transcription; // borrowed
    struct cli_sound *sound;                     // borrowed; NULL: the microphone
    struct cli_microphone *microphone;           // borrowed
    struct cli_bar *bar;                         // borrowed
    bool is_live;                                // text of running speech, on a terminal
    bool has_times, is_silent;                   // lines with times; no lines
    uint64_t n_sample;                           // read so far
    char language[16];                           // detected; empty: not yet
    size_t n_shown;                              // columns of text that the next one replaces
    struct {
        struct cli_segment *items; // owned, with their texts
        size_t count, capacity;
    } segments;
};

// Transcribes the sound to its end, or until SIGINT. Returns false with the reason printed.
bool cli_hearing_run(struct cli_hearing *hearing);
// Frees the transcript.
void cli_hearing_finish(struct cli_hearing *hearing);

#endif
