// Bytes of a pipe or a terminal, with a look at the first ones.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_stream {
    int fd;                  // owned
    unsigned char head[256]; // the first bytes, those from head_at on are still to be read
    size_t head_size, head_at;
    uint64_t left;  // bytes that may still be read
    int reason;     // errno of a read that failed; 0: none
    bool is_at_end; // nothing follows
};

// Reads the head, or all if the stream is shorter. fd belongs to the stream from now on.
void cli_stream_init(struct cli_stream *stream, int fd);
void cli_stream_finish(struct cli_stream *stream);

// Reads up to size bytes: as many as are there, but whole units, so that this waits for one.
// Returns 0 at the end, after a failure, and after an interrupt.
size_t cli_stream_read(struct cli_stream *stream, void *bytes, size_t size, size_t unit);
// Skips bytes. Returns false if the stream ends before.
bool cli_stream_skip(struct cli_stream *stream, uint64_t size);
// Returns true if reading would not wait.
bool cli_stream_is_ready(const struct cli_stream *stream);
