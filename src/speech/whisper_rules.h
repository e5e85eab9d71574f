// The rules by which Whisper's decoder writes a window of 30 s: its special tokens, the tokens that
// may follow, when the window is complete, and its segments. CPU only; equal to whisper.cpp's rules
// token for token.
//   Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, sections 2.3, 4.5
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GI_WHISPER_WINDOW = 3000,       // frames of 10 ms that the encoder reads
    GI_WHISPER_FRAMES_A_TIME = 2,   // frames from one timestamp token to the next
    GI_WHISPER_MAX_FIRST_TIME = 50, // the first timestamp is at most 1 s into the window
    GI_WHISPER_LEAST_SOUND = 10,    // frames; less at the end of the sound is not decoded
    GI_WHISPER_ENTROPY_TOKENS = 32, // at the end of a text, whose entropy is computed
};

// Token ids. Ids from `time` on are timestamps, of 20 ms each.
struct gi_whisper_ids {
    uint32_t n_vocab;
    uint32_t end, start; // of a transcript
    uint32_t language;   // the first of n_language; in the order of gi_whisper_language
    uint32_t n_language; // 0: the model knows English alone
    uint32_t translate, transcribe;
    uint32_t start_of_model; // unused by transcripts
    uint32_t previous;       // the text of earlier windows follows
    uint32_t no_speech, no_times;
    uint32_t time;
};

// Finds the ids of a vocabulary; false if its size is not that of a Whisper model.
bool gi_whisper_ids_init(struct gi_whisper_ids *ids, uint32_t n_vocab);
// Returns the number of languages that a model knows, the first ones of gi_whisper_language.
uint32_t gi_whisper_count_languages(uint32_t n_vocab);
// Return the code of language i, such as "en", and its name, such as "english"; NULL past the last.
const char *gi_whisper_language(uint32_t i);
const char *gi_whisper_language_name(uint32_t i);
// Returns the index of a language by its code or name, in any case; -1 for an unknown one.
int32_t gi_whisper_find_language(const char *text);
// Sets *language to that index, to -1 for NULL and "auto". Fails with INVALID_ARGUMENT.
bool gi_whisper_take_language(const char *text, int32_t *language, struct glinfer_error *err);

// The tokens that may follow, as ranges of ids. Special tokens other than `end` never follow.
struct gi_whisper_mask {
    bool has_text;                 // ids below `end`
    bool has_end, has_blank;       // `end`; a blank, " "
    uint32_t time_begin, time_end; // timestamps [time_begin, time_end)
};

// A chosen token.
struct gi_whisper_token {
    uint32_t id;
    uint32_t time; // the most likely timestamp in its place, an id
    float logprob; // natural logarithm, under the mask
};

enum gi_whisper_progress {
    GI_WHISPER_CONTINUES,
    GI_WHISPER_COMPLETE,
    GI_WHISPER_FAILED, // times run backwards or are missing: decode again at a higher temperature
};

// One window. Zero-initialise, then gi_whisper_begin.
struct gi_whisper_window {
    const struct gi_whisper_ids *ids; // borrowed
    uint32_t seek, end;               // frames: its start, and the end of the sound
    uint32_t max_tokens;
    bool without_times;
    struct gi_whisper_token *data; // tokens so far; owned
    size_t count, capacity;
    size_t n_result;   // tokens up to the last timestamp, or to the end
    uint32_t n_frames; // from seek to where the next window begins
    bool has_time;
};

void gi_whisper_begin(struct gi_whisper_window *window);
void gi_whisper_finish(struct gi_whisper_window *window);
// Returns the tokens that may follow.
struct gi_whisper_mask gi_whisper_next_mask(const struct gi_whisper_window *window);
// Returns the first timestamp that completes the window: it and those after it reach the end of the
// sound.
uint32_t gi_whisper_last_time(const struct gi_whisper_window *window);
// Adds a token. Fails with NO_MEMORY. When the window is complete, its result is tokens [0,
// n_result) and n_frames is final.
bool gi_whisper_push(struct gi_whisper_window *window, struct gi_whisper_token token,
                     enum gi_whisper_progress *progress, struct glinfer_error *err);
// Returns the average log-probability of the result; minus infinity if it is empty.
float gi_whisper_average(const struct gi_whisper_window *window);
// Returns the entropy of the last GI_WHISPER_ENTROPY_TOKENS of the result, in nats: repeated text
// has little.
float gi_whisper_entropy(const struct gi_whisper_window *window);

// A piece of the transcript: tokens [begin, end) of the window, among them timestamps; times are
// frames of the whole sound.
struct gi_whisper_segment {
    size_t begin, end;
    uint32_t from, to;
};

// Finds the next segment from token *at on, which it moves; false after the last.
bool gi_whisper_next_segment(const struct gi_whisper_window *window, size_t *at,
                             struct gi_whisper_segment *segment);
