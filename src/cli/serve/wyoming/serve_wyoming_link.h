// A connection of a Wyoming client: the sound of its events becomes a task of the scheduler, and
// the transcript becomes events. Only the thread of serve_wyoming.c uses this module.
#pragma once

#include "cli/serve/api/serve_api.h"
#include "cli/speech/cli_wyoming_sound.h"

// The server side that all connections share.
struct serve_wyoming_side {
    const struct serve_api *api; // borrowed
    struct cli_bytes info;       // the event info
    int wake_fd;                 // an eventfd that is written when a transcription has news
};

struct serve_wyoming_link {
    struct serve_wyoming_side *side; // borrowed
    int fd;                          // owned
    struct cli_wyoming_reader reader;
    struct cli_wyoming_sound sound;
    struct cli_samples samples; // of the utterance so far
    struct cli_bytes out;       // bytes to send, from n_sent on
    size_t n_sent;
    struct serve_task *task; // the transcription in progress, a reference; NULL: none
    bool has_text;           // a part of its text was sent
    bool is_probed;          // the client seems to send no more: a chunk finds out if it is gone
    bool has_ended;          // the client sends no more, and all of it was read
    bool is_refused;         // an error is the last event, and what arrives is dropped
    bool is_shut;            // after the error: the client has been told that no more is sent
    double since;            // cli_now() of the last progress
};

// Wakes the thread of a side, a struct serve_wyoming_side.
void serve_wyoming_wake(void *side);

// Creates a connection from a socket, which it takes over.
struct serve_wyoming_link *serve_wyoming_link_create(struct serve_wyoming_side *side, int fd);
// Closes the connection and cancels its transcription.
void serve_wyoming_link_destroy(struct serve_wyoming_link *link);

// Returns the events that poll is to wait for.
short serve_wyoming_link_events(const struct serve_wyoming_link *link);
// Reads, answers and writes as far as that is possible without waiting. revents: of poll. Returns
// false if the connection is over.
bool serve_wyoming_link_step(struct serve_wyoming_link *link, short revents);
// Ends a connection with an error event.
void serve_wyoming_link_refuse(struct serve_wyoming_link *link, const char *why);

// Returns true between the first sound and the last byte of the answer.
bool serve_wyoming_link_is_busy(const struct serve_wyoming_link *link);
// Returns true if the client waits for an answer.
bool serve_wyoming_link_is_owed(const struct serve_wyoming_link *link);
