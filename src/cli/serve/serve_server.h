// The server: a scheduler, the API and HTTP, from the first socket to the last answer.
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "cli/common/cli_session.h"
#include "cli/sampling/cli_sampling.h"

struct serve_server_params {
    const struct cli_session_flags *flags;
    const struct cli_sampling *sampling; // of requests that say nothing
    enum glinfer_pooling pooling;
    int64_t norm;      // of embeddings
    int64_t n_predict; // likewise
    const char *host;
    uint16_t port;
    const char *socket_path;         // NULL: host and port
    const char *keys, *key_file;     // NULL: none
    const struct cli_texts *origins; // of other pages that may call
    const char *slot_folder;         // where slots are saved; NULL: nowhere
    const char *name;                // of the model; NULL: its file's
    uint32_t n_slots, n_queue, n_threads;
    uint32_t timeout_s, drain_s;
    uint32_t max_connections;
    uint64_t max_body; // bytes
    bool has_metrics, has_slots, has_raw_thoughts;
};

// Serves until a signal ends it. Prints what failed; false then.
bool serve_server_run(const struct serve_server_params *params);

#endif
