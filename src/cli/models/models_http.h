// Makes one HTTP request with libcurl: follows redirects, sends a login only to its own host, and
// gives up on a server that is silent for too long.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The head of a server's last answer.
struct models_reply {
    long status;          // 200
    uint64_t length;      // of the body; 0: unknown
    uint64_t range_start; // of the body in the file, and the size of that; 0: unknown
    uint64_t range_size;
    uint64_t retry_after; // seconds that the server asks to wait; 0: none
    char etag[256];       // "": none, or one that does not promise the same bytes
    char type[64];        // Content-Type
    char sha256[65];      // of the file after a redirect, as the hub says; "": unknown
    char next[2048];      // the URL of the next page of a list; "": none
};

struct models_request {
    const char *url;
    const char *token;    // NULL: none
    uint64_t start;       // the byte from which on the file is wanted
    const char *if_range; // the ETag that the file must still have; "": any
    int64_t timeout_s;    // seconds that a server may be silent
    // Takes bytes of an answer with status 200 or 206; false ends the request.
    bool (*take)(void *user, const struct models_reply *reply, const char *data, size_t size);
    void *user;
};

enum models_outcome {
    MODELS_ANSWERED, // whole, with any status
    MODELS_BROKEN,   // in the middle, or the server is busy: another try may help
    MODELS_REFUSED,  // by take or by Ctrl-C
    MODELS_HOPELESS, // no such host, a wrong certificate
};

// Makes a request. Writes the reason into why unless it returns MODELS_ANSWERED.
enum models_outcome models_http_get(const struct models_request *request,
                                    struct models_reply *reply, char *why, size_t size);
