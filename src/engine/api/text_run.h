// Runs a text through a session in batches of a prompt, for calls that read the rows of each batch:
// scores and embeddings.
#pragma once

#include "engine/session/session.h"

// The first member of what such a call needs.
struct gi_text_run {
    struct glinfer_session *session;
    const int32_t *ids; // (n)
    size_t n;
    const char *what;           // name of the call, for messages
    uint32_t n_batch;           // maximum tokens of a batch
    struct gi_executor *reader; // runs after each batch; NULL: no list
    struct glinfer_error *err;
    // Writes what reader needs for the batch of count tokens from token `begin` on; may be NULL.
    bool (*write)(struct gi_text_run *run, size_t begin, uint32_t count);
    // Reads the results of the batch.
    bool (*take)(struct gi_text_run *run, size_t begin, uint32_t count);
};

// Checks that the tokens fit the context and the vocabulary. Fails with CONTEXT_FULL,
// INVALID_ARGUMENT.
bool gi_text_run_check(const struct gi_text_run *run);
// Makes a call of the session, which is reset, for work: it sets n_batch and reader, and calls
// gi_text_run_batches. Fails as work does, and as gi_call_begin.
bool gi_text_run_call(struct gi_text_run *run, bool (*work)(struct gi_text_run *run));
// Runs all batches. Fails with GPU_LOST, CANCELLED, and as write and take do.
bool gi_text_run_batches(struct gi_text_run *run);
