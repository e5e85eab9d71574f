// One sound becomes a transcript: reads it, transcribes it piece by piece, and prints the text as
// it comes.
#pragma once

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
    bool is_live;                                // feeds sound as soon as it arrives
    bool only_language;                          // ends when the language is known
    bool has_times;                              // prints the times of a segment before its text
    bool is_partial_shown;                       // text of running speech is on the terminal
    uint64_t n_sample;                           // read so far
    char language[16];                           // detected; empty: not yet
    struct cli_segments segments;
};

// The numbers of a transcription's settings, for rows of flags and of fields of requests.
#define CLI_SPEECH_INDEX(type, field, value, least, most) CLI_SPEECH_##field,
enum {
    GLINFER_SPEECH_MAP(CLI_SPEECH_INDEX) // of the numbers below
    CLI_N_SPEECH_NUMBER,
};
extern const struct cli_number cli_speech_numbers[CLI_N_SPEECH_NUMBER];
// A row for a number of `params`, a struct glinfer_transcription_params in the settings.
#define CLI_SPEECH(field, names_, value_, help_)                                                   \
    CLI_ROW(NUMBER, params, names_, value_, help_,                                                 \
            .number = &cli_speech_numbers[CLI_SPEECH_##field])

// Transcribes the sound to its end, or until SIGINT. Returns false with the reason printed, or left
// to cli_close_output if the text cannot be written.
bool cli_hearing_run(struct cli_hearing *hearing);
// Frees the transcript.
void cli_hearing_finish(struct cli_hearing *hearing);
