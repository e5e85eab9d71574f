// The answers to one request on the side of the connection: takes their events and makes them the
// body, at once when all is there, or as server-sent events bit by bit. Used by one thread at a
// time.
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include "cli/serve/answer/serve_thoughts.h"
#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_scheduler.h"

struct serve_choice {
    bool has_begun, is_over;
    struct cli_bytes text; // as it was delivered, without its thought if that is told from it
    struct serve_thoughts thoughts;
    struct cli_bytes bytes; // of an embedding: its floats
    struct cli_ids ids;
    size_t shown;       // bytes of text that a stream has sent
    cJSON *calls;       // of tools, the last one perhaps in part; owned; NULL: no call
    int n_calls;        // calls that a stream has begun
    size_t call_shown;  // bytes of the last call's arguments that a stream has sent
    cJSON *probs;       // a list, if log-probabilities are wanted; owned
    size_t text_offset; // in characters, of the next token
    uint32_t n_cached, slot;
    struct glinfer_stats stats;
    struct serve_action_result result; // of an action
};

struct serve_answer;

// Spells answers as one API has them.
struct serve_format {
    const char *id_prefix;
    const char *end; // of a stream
    // Returns the whole body.
    cJSON *(*whole)(const struct serve_answer *answer);
    // Return the next event of a stream, or NULL for none. what: of the event TOKEN.
    cJSON *(*begin)(const struct serve_answer *answer, uint32_t choice);
    cJSON *(*token)(struct serve_answer *answer, uint32_t choice, const char *text, size_t size,
                    cJSON *probs);
    cJSON *(*thought)(struct serve_answer *answer, uint32_t choice, const char *text, size_t size,
                      cJSON *probs); // only where thoughts are told from texts
    // Begins a call of a tool, or continues its arguments with a fragment; used only if the request
    // has tools.
    cJSON *(*call)(const struct serve_answer *answer, uint32_t choice, int index, const cJSON *call,
                   const char *fragment);
    cJSON *(*finish)(const struct serve_answer *answer, uint32_t choice);
    cJSON *(*close)(const struct serve_answer *answer);
    // Returns one token's log-probabilities.
    cJSON *(*probs)(struct serve_answer *answer, struct serve_choice *choice,
                    const struct serve_event *event, const struct glinfer_prob *probs);
};
extern const struct serve_format serve_format_chat, serve_format_completion, serve_format_native,
    serve_format_slot, serve_format_embedding, serve_format_embedding_native, serve_format_rerank,
    serve_format_rerank_texts;

struct serve_answer {
    const struct serve_format *format;
    struct serve_scheduler *scheduler; // borrowed
    const char *model;                 // its name; borrowed
    struct serve_task *task;           // a reference
    struct serve_choice *choices;      // one for each job
    char id[48];
    int64_t created;                      // seconds since 1970
    const struct serve_call_style *calls; // of tools that are looked for; NULL: none
    bool is_stream, has_usage, has_ids, is_base64;
    uint32_t n_top; // log-probabilities of others that are wanted with each token's

    bool has_begun;   // the first answer has a slot, or the body has begun: a stream goes on
    uint32_t n_over;  // answers that are
    bool is_over;     // all of the body is there
    unsigned failure; // status of HTTP; 0: none
    struct cli_bytes body;
    size_t sent; // bytes of the body that were taken
};

// Takes a reference to the task over. Fields up to has_begun are the caller's to set before the
// task is submitted.
struct serve_answer *serve_answer_create(struct serve_scheduler *scheduler,
                                         const struct serve_format *format,
                                         struct serve_task *task);
// Cancels what has not ended. Accepts NULL.
void serve_answer_destroy(struct serve_answer *answer);

// Takes what has happened since the last call; false if that is nothing.
bool serve_answer_advance(struct serve_answer *answer);

// Returns the body of an error: {"error": {"code", "message", "type"}}, the type by the status.
cJSON *serve_error_json(unsigned status, const char *message);

//-- for formats -----------------------------------------------------------------------------------

// Returns the text of a token, what is no UTF-8 in it replaced.
cJSON *serve_token_text(const struct serve_answer *answer, int32_t id);
// Returns the bytes of a token as a list of numbers.
cJSON *serve_token_bytes(const struct serve_answer *answer, int32_t id);
// Returns the log-probability of the token itself; where it is not among the likeliest, -9999, as
// OpenAI has it.
float serve_token_logprob(const struct serve_event *event, const struct glinfer_prob *probs);
// Returns the text of a document to rank: a text or {"text": ...}; NULL for anything else.
const char *serve_document_text(const cJSON *document);
// Returns the stop text that ended answer `index`, "" if none did.
const char *serve_stopping_word(const struct serve_answer *answer, uint32_t index);
// Adds "timings" as llama-server has them.
void serve_add_timings(cJSON *object, const struct serve_answer *answer, uint32_t index);

#endif
