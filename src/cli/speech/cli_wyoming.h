// Events of the Wyoming protocol, by which Home Assistant talks to speech services: a line of JSON
// {type, data, data_length, payload_length}, then that many bytes of JSON, then of payload. No
// sockets: bytes come in, events come out, and the other way round.
#pragma once

#include "cli/common/cli_json.h"

enum {
    CLI_WYOMING_MAX_LINE = 64 << 10,    // bytes
    CLI_WYOMING_MAX_DATA = 1 << 20,     // bytes
    CLI_WYOMING_MAX_PAYLOAD = 16 << 20, // bytes; 8 minutes of sound in one event
};

struct cli_wyoming_event {
    const char *type;
    const cJSON *data; // an object with the members of the line's data and of the data bytes
    const unsigned char *payload;
    size_t n_payload; // bytes
};

// Makes events of bytes. All zero: at the beginning.
struct cli_wyoming_reader {
    struct cli_bytes bytes; // not read yet, from `at` on
    size_t at;
    cJSON *line; // of the event that was returned last
    bool is_broken;
};
void cli_wyoming_reader_finish(struct cli_wyoming_reader *reader);
// Appends bytes that have arrived.
void cli_wyoming_reader_feed(struct cli_wyoming_reader *reader, const void *bytes, size_t size);

enum cli_wyoming_found {
    CLI_WYOMING_EVENT,  // *event is set, until the next call
    CLI_WYOMING_MORE,   // the next event is not complete
    CLI_WYOMING_BROKEN, // err has the reason, and no other event will be found
};
enum cli_wyoming_found cli_wyoming_reader_next(struct cli_wyoming_reader *reader,
                                               struct cli_wyoming_event *event,
                                               struct glinfer_error *err);

// Appends an event. data: an object, which this takes; NULL: none.
void cli_wyoming_write(struct cli_bytes *bytes, const char *type, cJSON *data, const void *payload,
                       size_t n_payload);
// Appends an event {text, language}, such as transcript, transcript-chunk, pong or error. A
// member that is NULL is left out.
void cli_wyoming_write_text(struct cli_bytes *bytes, const char *type, const char *text,
                            const char *language);

// Appends the event info: a program that transcribes speech, with one model, which knows the first
// n_language ones of glinfer_speech_language.
void cli_wyoming_write_info(struct cli_bytes *bytes, const char *model, size_t n_language);
