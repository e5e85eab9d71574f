// A task is what one request asks of the model: one answer or several, with the settings that they
// share. A task is owned together by its connection and by its answers in the scheduler: each has a
// reference, and the last frees it.
#ifndef SERVE_TASK_H
#define SERVE_TASK_H

#include "cli/serve/schedule/serve_mailbox.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>

struct serve_task;

// One answer.
struct serve_job {
    struct serve_task *task; // borrowed
    struct serve_job *next;  // in the scheduler's queue
    uint32_t choice;         // its index
    struct cli_ids prompt;   // the whole of it
    const char *text;        // of the prompt, borrowed from the body; NULL: it was given as ids
    uint64_t seed;
    uint32_t n_before; // answers before it in the queue, as sent last; UINT32_MAX: not yet
};

enum {
    SERVE_MAX_JOBS = 64,
    SERVE_MAX_STOPS = 32,
    SERVE_MAX_BREAKERS = 32,
    SERVE_MAX_BIASES = 1024,
};

struct serve_task {
    atomic_uint n_refs;
    atomic_bool is_cancelled;
    struct serve_mailbox mailbox;
    cJSON *body; // the request, which the settings point into; owned

    // The settings of every answer, but for prompt and seed:
    struct glinfer_generate_params params;
    struct glinfer_samplers samplers;
    struct glinfer_grammar grammar;
    struct glinfer_logit_bias biases[SERVE_MAX_BIASES];
    const char *stops[SERVE_MAX_STOPS];
    const char *breakers[SERVE_MAX_BREAKERS];
    int32_t trigger_token;
    char *order;        // the samplers' names; owned
    char *grammar_text; // owned
    struct {
        char **items; // the schemas of the grammar; owned
        size_t count, capacity;
    } schemas;
    bool is_fresh;              // nothing that a slot holds is used again
    int32_t slot;               // the one that is asked for, -1: any
    bool has_progress;          // events PROGRESS are wanted
    bool has_echo;              // the prompt comes before the answer
    uint32_t n_echo_probs;      // likeliest tokens wanted with each token of the echo
    bool has_echo_probs;        // the tokens of the echo have log-probabilities
    struct serve_action action; // what is asked for in place of an answer

    bool is_embedding; // which has none of the settings above

    enum glinfer_pooling pooling;
    int64_t norm;          // as cli_scale_values has it
    uint32_t n_dimensions; // numbers of an embedding, from its first on; 0: all

    uint32_t n_jobs;
    struct serve_job jobs[SERVE_MAX_JOBS];
};

// Returns a task with one reference and the library's defaults; takes the body over, also NULL.
struct serve_task *serve_task_create(cJSON *body);
// Gives a task another answer and returns it.
struct serve_job *serve_task_add(struct serve_task *task);
struct serve_task *serve_task_ref(struct serve_task *task);
// Drops a reference. Accepts NULL.
void serve_task_unref(struct serve_task *task);

#endif
