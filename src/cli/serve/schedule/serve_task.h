// A task is the work of one request: one answer or several, with the settings that they share. The
// connection and each answer in the scheduler have a reference to it; the last one frees it.
#pragma once

#include "cli/flags/cli_lora.h"
#include "cli/serve/schedule/serve_budget.h"
#include "cli/serve/schedule/serve_mailbox.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>

struct serve_task;

enum { SERVE_MAX_PLACES = 4 };

// Numbers of tokens of a prompt after which other prompts are likely to differ, ascending.
struct serve_places {
    uint32_t at[SERVE_MAX_PLACES];
    uint32_t n;
};

// Adds a place, unless it is 0, is there already, or finds no room.
void serve_places_add(struct serve_places *places, size_t at);

// One answer.
struct serve_job {
    struct serve_task *task; // borrowed
    struct serve_job *next;  // in the scheduler's queue
    uint32_t choice;         // its index in the task
    struct cli_ids prompt;   // all tokens
    const char *text; // of the prompt, borrowed from the body; NULL: the prompt was given as ids
    struct serve_places places; // in the prompt
    uint64_t seed;
    struct serve_budget budget; // of its thought
    uint32_t n_before;          // its place in the queue that was sent last; UINT32_MAX: not sent
};

enum {
    SERVE_MAX_ANSWERS = 64,  // of one request
    SERVE_MAX_INPUTS = 8192, // of one request for embeddings or scores
    SERVE_MAX_STOPS = 256,
    SERVE_MAX_BREAKERS = 32,
    SERVE_MAX_BIASES = 1024,
};

enum serve_action_kind {
    SERVE_ACTION_NONE,
    SERVE_ACTION_SAVE,
    SERVE_ACTION_RESTORE,
    SERVE_ACTION_ERASE,
};

// Saves, restores or erases the content of a slot, for /slots/ID?action=.
struct serve_action {
    enum serve_action_kind kind;
    char *path; // of the file; owned. NULL: the action needs no file
};

struct serve_task {
    atomic_uint n_refs;
    atomic_bool is_cancelled;
    struct serve_mailbox mailbox;
    cJSON *body; // the request, which the settings point into; owned

    // Settings of every answer, except prompt and seed:
    struct glinfer_generate_params params;
    struct glinfer_samplers samplers;
    struct glinfer_grammar grammar;
    struct glinfer_logit_bias biases[SERVE_MAX_BIASES];
    const char *stops[SERVE_MAX_STOPS];
    const char *breakers[SERVE_MAX_BREAKERS];
    int32_t trigger_token;
    char *order;        // names of the samplers; owned
    char *grammar_text; // owned
    struct {
        char **items; // schemas of the grammar; owned
        size_t count, capacity;
    } schemas;
    bool is_fresh;         // the content of the slot is not reused
    int32_t slot;          // requested slot; -1: any
    bool has_progress;     // events PROGRESS are sent
    bool has_echo;         // the prompt comes before the answer
    uint32_t n_echo_probs; // likeliest tokens that are sent with each token of the echo
    bool has_echo_probs;   // the tokens of the echo have log-probabilities
    float adapter_scales[CLI_MAX_LORA];
    uint32_t n_adapters;
    struct serve_action action; // runs in place of an answer

    struct serve_speech *speech; // sound to transcribe in place of an answer; owned. NULL: none

    bool is_embedding; // an embedding uses only the settings below

    enum glinfer_pooling pooling;
    int64_t norm;          // as cli_scale_values has it
    uint32_t n_dimensions; // first numbers of an embedding that are returned; 0: all

    uint32_t n_jobs;
    struct serve_job *jobs; // owned; they stay where they are once the task is submitted
    size_t job_capacity;
};

// Returns a task with one reference and the library's defaults. Takes over the body, which may be
// NULL.
struct serve_task *serve_task_create(cJSON *body);
// Adds an answer to a task and returns it, up to the next call.
struct serve_job *serve_task_add(struct serve_task *task);
// Sends the failure of an answer and drops its reference to the task.
void serve_job_fail(struct serve_job *job, const struct glinfer_error *err);
struct serve_task *serve_task_ref(struct serve_task *task);
// Drops a reference. Accepts NULL.
void serve_task_unref(struct serve_task *task);
