// Turns the bytes of tokens into text that may be shown: whole characters only, and nothing that
// may be the start of a stop string until it is known not to be one.
#pragma once

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

struct gi_text_stream {
    struct gi_utf8_stream utf8;
    char *text;      // characters not yet released, then the ones released last
    size_t capacity; // bytes
    size_t n_held;   // bytes at the start of text that are held back
    size_t n_released;
    char **stop; // (n_stop) owned
    size_t n_stop;
    bool is_stopped;   // a stop string came
    size_t stop_index; // which one
};

// Copies the n_stop stop strings. max_token is the largest number of bytes that one push brings.
// Fails with NO_MEMORY; the stream must be finished then, too.
bool gi_text_stream_init(struct gi_text_stream *stream, const char *const *stop, size_t n_stop,
                         size_t max_token, struct glinfer_error *err);
void gi_text_stream_finish(struct gi_text_stream *stream);

// Adds a token's bytes. Returns what may be shown now, valid until the next call; its size may be
// 0. After a stop string nothing more is released.
struct gi_text gi_text_stream_push(struct gi_text_stream *stream, struct gi_text bytes);
// Ends the text. Returns what is still held back.
struct gi_text gi_text_stream_flush(struct gi_text_stream *stream);
