// Turns sound into text: takes samples in pieces of any size, finds speech, encodes windows of at
// most 30 s, decodes them by the rules of whisper.cpp, and tells the text as events. Works in steps
// of at most one call of the network, so that its caller may do other things between them. A
// transcriber belongs to one thread at a time.
#pragma once

#include "speech/speech_net.h"
#include "speech/transcript.h"
#include "speech/voice.h"

struct gi_mel;

struct gi_transcriber_params {
    int32_t language; // index for gi_whisper_language; -1: detected
    bool translates;  // to English
    bool is_live;     // tells the text of running speech, and decodes each stretch of it alone, at
                      // the first temperature: other attempts would delay the next stretches
    // Encodes 30 s however short the sound is, scales it by its loudest frame, and starts when the
    // sound has ended: as whisper.cpp does, word for word.
    bool is_exact;
    bool without_partials; // is_live, but tells no text of running speech
    bool without_times;    // lets no timestamps be decoded
    bool has_words;        // tells times of words and tokens
    uint32_t max_length;   // characters of a segment; 0: unlimited
    bool splits_on_word;   // for max_length: cuts only between words
    const char *prompt;    // text before the first window; NULL: none. Not used after creation
    bool carries_prompt;   // puts the prompt before every window
    uint32_t max_context;  // tokens of the prompt and earlier windows before a window
    // Least positions to encode, if they are more than those of the sound and 1 s of silence, and
    // than 384. With tiny.en a word in 30 differs from the exact mode's.
    uint32_t audio_ctx;
    const char *suppressed;  // regular expression of tokens that are left out; NULL: none. Not
                             // used after creation
    bool suppresses_symbols; // leaves out tokens that are not speech
    float temperature;       // of the first attempt; 0: the most likely tokens
    float temperature_step;  // to the next attempt, up to 1; 0: a single attempt
    float entropy_least;     // of a text; with less, another attempt follows
    float average_least;     // mean log-probability of a token; with less, another attempt follows,
    float no_speech_most;    // or the window has no text if silence is more probable than this
    uint32_t best_of;        // texts at a temperature above 0, of which the best is kept
    uint32_t beam_size;      // of beam search at temperature 0; 1: greedy
    uint64_t seed;           // of random numbers
    struct gi_voice_params voice;
};

// All are borrowed and outlive the transcriber.
struct gi_transcriber_inputs {
    const struct gi_speech_net *net;
    const struct gi_mel *mel; // of net's n_mel bands
    const struct gi_whisper_text *text;
    const struct gi_vad *vad; // NULL: all sound is decoded
};

struct gi_transcriber;

// best_of and beam_size are lowered to the net's n_seq. Fails with INVALID_ARGUMENT (the regular
// expression; a number out of its range; a language that the model does not know, or a translation
// by one that knows English alone), BAD_FILE (the size of the vocabulary), NO_MEMORY.
struct gi_transcriber *gi_transcriber_create(const struct gi_transcriber_inputs *inputs,
                                             const struct gi_transcriber_params *params,
                                             struct glinfer_error *err);
// Accepts NULL.
void gi_transcriber_destroy(struct gi_transcriber *transcriber);

// Appends samples, 16 kHz, mono; those that are not numbers are silence. Fails with
// INVALID_ARGUMENT after the end, NO_MEMORY; nothing has been appended then.
bool gi_transcriber_push(struct gi_transcriber *transcriber, const float *samples, size_t n,
                         struct glinfer_error *err);
// No samples follow.
void gi_transcriber_end(struct gi_transcriber *transcriber);

enum gi_transcriber_state {
    GI_TRANSCRIBER_WORKS, // another step has something to do
    GI_TRANSCRIBER_WAITS, // for samples, or for the end
    GI_TRANSCRIBER_DONE,  // after the event DONE was made
};
// Does the next piece of work. Fails as the network does, and with NO_MEMORY; no text is lost then,
// and the next step begins the window again.
bool gi_transcriber_step(struct gi_transcriber *transcriber, enum gi_transcriber_state *state,
                         struct glinfer_error *err);
// Begins the window in progress again with the next step: the network has lost it.
void gi_transcriber_repeat(struct gi_transcriber *transcriber);
// Takes the oldest event; false if the queue is empty. Its pointers are valid until the next call.
bool gi_transcriber_poll(struct gi_transcriber *transcriber, struct gi_transcript_event *event);

// Returns the ms of the stream that are done: silence, and speech that has been transcribed.
uint64_t gi_transcriber_time(const struct gi_transcriber *transcriber);

// Drops all sound that is not transcribed; DONE follows the events that are there.
void gi_transcriber_cancel(struct gi_transcriber *transcriber);
// Drops everything: another sound may begin.
void gi_transcriber_reset(struct gi_transcriber *transcriber);
