// Converts the sound of a Wyoming client, the events transcribe, audio-start, audio-chunk... and
// audio-stop, to samples at 16 kHz with one channel.
#pragma once

#include "cli/speech/cli_resample.h"
#include "cli/speech/cli_wyoming.h"

// A connection. All zero but for n_sample_most: nothing is being said.
struct cli_wyoming_sound {
    cJSON *request;   // data of the last event transcribe; owned. NULL: none
    bool is_speaking; // between audio-start and audio-stop
    uint32_t rate, width, n_channels;
    struct cli_resampler *resampler; // owned; NULL: no chunk yet
    float *frames;                   // owned
    size_t capacity;
    uint64_t n_sample_most; // of an utterance; set by the caller
};
void cli_wyoming_sound_finish(struct cli_wyoming_sound *sound);

// The task that an event sets.
enum cli_wyoming_task {
    CLI_WYOMING_NOTHING,  // also of events that this server does not know
    CLI_WYOMING_DESCRIBE, // an event info
    CLI_WYOMING_PING,     // an event pong with the same text
    CLI_WYOMING_ASK,      // request is set: its language and model should be checked
    CLI_WYOMING_BEGIN,    // an utterance begins; some clients omit this event
    CLI_WYOMING_SOUND,    // samples of it were appended
    CLI_WYOMING_LONG,     // they would be more than n_sample_most, and were not appended
    CLI_WYOMING_END,      // its last samples were appended: a transcript
    CLI_WYOMING_REFUSE,   // err has the reason: an event error, and the end of the connection
};
enum cli_wyoming_task cli_wyoming_take(struct cli_wyoming_sound *sound,
                                       const struct cli_wyoming_event *event,
                                       struct cli_samples *samples, struct glinfer_error *err);
