// The settings of `glinfer serve`, as its flags fill them. They do not change while it runs.
#pragma once

#include "cli/common/cli_session.h"
#include "cli/sampling/cli_sampling.h"

// An address to listen on.
struct serve_place {
    bool is_set;
    char host[256]; // "": as the server itself
    uint16_t port;  // 0: a free one
};

struct serve_settings {
    struct cli_session_flags session;
    // Several models, without one above: a folder and a file with presets; NULL: none
    const char *models_dir, *models_preset;
    int64_t models_max; // loaded at a time; 0: unlimited
    bool no_autoload;   // only /models/load loads a model
    int64_t sleep_s;    // without requests, after which a model leaves the device; -1: never
    const struct cli_report *report; // of the flags; borrowed
    const char *host, *socket_path;  // host and port count if the path is NULL
    int64_t port;
    const char *keys, *key_file; // NULL: none
    struct cli_texts origins;    // of other pages that may call
    // A speech model and a network that detects speech: names or files; NULL: none
    const char *speech_model, *vad_model;
    bool no_vad;
    struct serve_place wyoming; // for clients of the Wyoming protocol
    const char *alias;          // names of the model, with commas; NULL: the name of its file
    const char *tags;           // told with the model, with commas; NULL: none
    const char *slot_folder;    // where slots are saved; NULL: nowhere
    int64_t n_slots, n_queue;
    int64_t n_checkpoints;            // of each slot
    int64_t cache_ram;                // MiB of prefixes; -1: no limit; SERVE_CACHE_AUTO: default
    int64_t n_threads, n_connections; // for each socket
    int64_t timeout_s;                // of a request, and of an answer that a client does not read
    int64_t drain_s;
    int64_t ping_s;    // between comments in a stream that is silent; -1: none
    uint64_t max_body; // bytes
    bool has_metrics, has_slots, is_slotless; // endpoints; the last flag overrides the second
    bool is_pageless;                         // no page at /

    // Defaults of requests:
    struct cli_sampling sampling;
    int64_t n_predict; // -1: to the end of the context
    bool shifts;       // the context drops its oldest tokens once it is full
    int pooling;       // enum glinfer_pooling, of embeddings; DEFAULT: as the file says
    int64_t norm;      // of embeddings, as --embd-normalize has it
    int reasoning_format;
    int64_t thought_budget;      // tokens of a thought; -1: no limit
    const char *thought_message; // its last words at the limit; NULL: none
};
enum { SERVE_CACHE_AUTO = -2 };
enum { SERVE_REASONING_NONE = 2 }; // thoughts are text of the answer, with their marks

// Checks the settings that are of a model. Returns false with the reason printed.
bool serve_settings_check(const struct serve_settings *settings);
