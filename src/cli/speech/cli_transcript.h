// Keeps the segments of a transcript and writes them in the formats of whisper-cli (lines with
// times, TXT, SRT, VTT, LRC, CSV, JSON) and as the JSON of OpenAI's API. Bytes that are not UTF-8,
// such as a character that is cut at the end of a segment, become U+FFFD.
#pragma once

#include "cli/common/cli_json.h"

// A word or a token of a segment. Times are in ms from the beginning of the sound.
struct cli_spoken {
    const char *text;       // borrowed; with the space before a word
    int64_t from_ms, to_ms; // -1: unknown
    int32_t id;             // of a token
    float probability;
    int64_t dtw_ms; // of a token by the alignment of sound and text; -1: unknown
};

struct cli_segment {
    int64_t from_ms, to_ms;
    const char *text;                        // borrowed
    const struct cli_spoken *words, *tokens; // borrowed
    size_t n_word, n_token;
    int64_t seek_ms; // beginning of the 30 seconds that it was heard in
    float temperature, mean_logprob, no_speech_probability;
};

// The segments of a sound that is being transcribed. All zero: none yet.
struct cli_segments {
    struct cli_segment *items; // owned, with their texts, words and tokens
    size_t count, capacity;
    int64_t offset_ms; // of the sound in its file: is added to all times
};
// Appends a copy of an event of the kind GLINFER_TRANSCRIPT_SEGMENT. Returns the segment, which is
// valid until the next call.
const struct cli_segment *cli_segments_add(struct cli_segments *segments,
                                           const struct glinfer_transcript_event *event);
void cli_segments_finish(struct cli_segments *segments);

// The description of a model in whisper-cli's JSON.
struct cli_transcript_model {
    const char *path, *type; // such as "base"
    bool is_multilingual;
    uint32_t n_vocab, n_mel, ftype;
    struct cli_transcript_tower {
        uint32_t n_ctx, n_state, n_head, n_layer;
    } audio, text;
};

struct cli_transcript {
    const struct cli_segment *segments; // borrowed
    size_t n_segment;
    const char *language; // such as "en"
    const char *asked;    // the language of the request, "auto" to detect it
    bool is_translation;
    float language_probability; // of a detected language; 0: it is not told
    double seconds;             // of sound
    const char *warning;        // such as that the sound ends early; NULL: none
    struct cli_transcript_model model;
};

enum cli_transcript_format {
    CLI_TRANSCRIPT_TXT,
    CLI_TRANSCRIPT_SRT,
    CLI_TRANSCRIPT_VTT,
    CLI_TRANSCRIPT_LRC,
    CLI_TRANSCRIPT_CSV,
    CLI_TRANSCRIPT_JSON,
    CLI_TRANSCRIPT_JSON_FULL, // with tokens
    CLI_TRANSCRIPT_FORMATS,
};

// Reads a language for a flag: auto, or a code or a name in any case.
bool cli_parse_language(const char *text, void *field, char *why, size_t size);
// Returns the index of a language by its code or name, in any case; the number of languages for
// other texts, such as "auto".
size_t cli_language_find(const char *text);
// Returns the code of a transcript's language: of the detected one, or, if that is "", of the
// request's, which may be a name, or "en" for "auto", because only models that know English alone
// detect none.
const char *cli_transcript_language(const char *detected, const char *asked);
// Returns the ending of a file's name: "txt".
const char *cli_transcript_ending(enum cli_transcript_format format);
// Appends a transcript in a format of whisper-cli.
void cli_transcript_write(const struct cli_transcript *transcript,
                          enum cli_transcript_format format, struct cli_bytes *text);
// Appends a line "[00:00:00.000 --> 00:00:02.500]  text"; without times, the text alone.
void cli_segment_write(const struct cli_segment *segment, bool has_times, struct cli_bytes *text);

// Appends the text of all segments as clients of the API read it, without spaces around it.
void cli_transcript_join(const struct cli_transcript *transcript, struct cli_bytes *text);
// Returns {text}, the answer `json` of OpenAI's API, and the member warning if there is one.
cJSON *cli_transcript_json(const struct cli_transcript *transcript);
// Returns the answer `verbose_json`: with segments, and with words if that is set.
cJSON *cli_transcript_verbose(const struct cli_transcript *transcript, bool has_words);
