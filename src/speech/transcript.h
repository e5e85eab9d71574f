// The events of a transcription in a queue, and the segments, words and times that
// the tokens of a window become.
#pragma once

#include "speech/model/whisper_text.h"
#include "speech/stream/time_map.h"
#include "speech/whisper_rules.h"
#include "speech/window/word_times.h"

// A queue; zero-initialised.
struct gi_transcript {
    struct glinfer_transcript_event *data; // owned, with texts, tokens and words
    size_t count, capacity;
    size_t n_taken; // events at the front that were taken
};

// Appends an event without text. Fails with NO_MEMORY.
bool gi_transcript_add(struct gi_transcript *transcript, struct glinfer_transcript_event event,
                       struct glinfer_error *err);
// Takes the oldest event, which stays valid until the next call; false if the queue is empty.
bool gi_transcript_take(struct gi_transcript *transcript, struct glinfer_transcript_event *event);
// Removes the latest events until `count` are left.
void gi_transcript_cut(struct gi_transcript *transcript, size_t count);
void gi_transcript_finish(struct gi_transcript *transcript);

// A decoded window and how its text is to be cut.
struct gi_transcript_window {
    const struct gi_whisper_window *window;
    const struct gi_whisper_text *text;
    const struct gi_time_map *map;
    const struct gi_token_time *times; // of the window's tokens, or NULL
    uint64_t end;                      // frame; no time is later
    bool has_words, has_spaces;        // whether the language writes spaces between words
    uint32_t max_length;               // characters of a segment; 0: unlimited. Needs times
    bool splits_on_word;
    float no_speech, temperature;
};

// Appends a window's segments. Fails with NO_MEMORY; some may have been appended.
bool gi_transcript_add_window(struct gi_transcript *transcript,
                              const struct gi_transcript_window *source, struct glinfer_error *err);
// Appends a window's text so far as PARTIAL. Fails with NO_MEMORY.
bool gi_transcript_add_partial(struct gi_transcript *transcript,
                               const struct gi_transcript_window *source,
                               struct glinfer_error *err);
// Divides the time of each segment evenly among the bytes of its tokens. times: (count of the
// window).
void gi_transcript_divide_times(const struct gi_transcript_window *source,
                                struct gi_token_time *times);
