// The answers to one request on the side of the connection: takes their events and writes the body,
// whole at the end, or in server-sent events. One thread at a time uses an answer.
#pragma once

#include "cli/serve/answer/serve_reply.h"
#include "cli/serve/answer/serve_thoughts.h"
#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_scheduler.h"

// The kinds of items of a response: serve_format_responses.c.
enum serve_item_kind {
    SERVE_ITEM_NONE,
    SERVE_ITEM_THOUGHT,
    SERVE_ITEM_MESSAGE,
    SERVE_ITEM_CALL,
};

// The item of a response that a stream has begun.
struct serve_item {
    enum serve_item_kind kind;
    char id[64];
    size_t begin; // of its text, in bytes
    int call;     // its index
    int n_events; // of the stream so far
};

struct serve_choice {
    bool has_begun, is_over;
    struct cli_bytes text; // without the thought, if thoughts are told from answers
    struct serve_thoughts thoughts;
    struct cli_bytes bytes; // of an embedding: its floats
    struct cli_ids ids;
    size_t shown;       // bytes of text that a stream has sent
    cJSON *calls;       // of tools; the last one may be incomplete; owned. NULL: no call
    int n_calls;        // calls that a stream has begun
    size_t call_shown;  // bytes of the last call's arguments that a stream has sent
    cJSON *probs;       // list of log-probabilities; owned. NULL: not requested
    size_t text_offset; // in characters, of the next token
    uint32_t n_cached, slot;
    double began, first; // cli_now() when it got its slot, and at its first token
    uint32_t n_reported; // tokens of the prompt in the last event of progress, without n_cached
    size_t n_ids_shown;  // ids that a stream has sent
    struct glinfer_stats stats;        // up to the end those that the connection sees
    struct serve_action_result result; // of an action
    cJSON *items;                      // of a response, those that are complete; owned
    struct serve_item item;
};

struct serve_answer;

// The way in which a stream sends its objects.
enum serve_framing {
    SERVE_FRAMES_EVENTS, // server-sent events
    SERVE_FRAMES_NAMED,  // server-sent events that are named by their type
    SERVE_FRAMES_LINES,  // a line for each, as Ollama does; an error is a text alone
};

// Writes answers in the shape of one API. Functions that are NULL write nothing.
struct serve_format {
    enum serve_framing framing;
    const char *id_prefix;
    const char *end; // last bytes of a stream
    // Returns the whole body.
    cJSON *(*whole)(const struct serve_answer *answer);
    // Writes the whole body, in place of `whole`.
    void (*write)(const struct serve_answer *answer, struct cli_bytes *body);
    // The next seven return an event of a stream, a list of events, or NULL.
    cJSON *(*begin)(const struct serve_answer *answer, uint32_t choice);
    // Begins an event of progress; NULL: token does, with an empty text.
    cJSON *(*progress)(const struct serve_answer *answer, uint32_t choice);
    cJSON *(*token)(struct serve_answer *answer, uint32_t choice, const char *text, size_t size,
                    cJSON *probs);
    cJSON *(*thought)(struct serve_answer *answer, uint32_t choice, const char *text, size_t size,
                      cJSON *probs); // only if thoughts are told from answers
    // Begins a call of a tool, or continues its arguments with a fragment; only for requests with
    // tools.
    cJSON *(*call)(const struct serve_answer *answer, uint32_t choice, int index, const cJSON *call,
                   const char *fragment);
    cJSON *(*finish)(const struct serve_answer *answer, uint32_t choice);
    cJSON *(*close)(const struct serve_answer *answer);
    // Returns the log-probabilities of one token.
    cJSON *(*probs)(struct serve_answer *answer, struct serve_choice *choice,
                    const struct serve_event *event, const struct glinfer_prob *probs);
};
extern const struct serve_format serve_format_chat, serve_format_completion, serve_format_native,
    serve_format_slot, serve_format_embedding, serve_format_embedding_native, serve_format_rerank,
    serve_format_rerank_texts, serve_format_speech, serve_format_ollama_chat,
    serve_format_ollama_text, serve_format_responses, serve_format_ollama_embed,
    serve_format_ollama_embedding;

struct serve_answer {
    const struct serve_format *format;
    struct serve_scheduler *scheduler;         // borrowed
    const struct glinfer_tokenizer *tokenizer; // borrowed
    const char *model;                         // its name; borrowed
    struct serve_task *task;                   // a reference
    struct serve_choice *choices;              // one for each job; owned
    char id[48];
    const char *type;                     // media type of the body, a string literal; NULL: JSON
    int64_t created;                      // seconds since 1970
    const struct serve_call_style *calls; // of tools; NULL: calls are not looked for
    bool is_stream, has_usage, has_ids, is_base64;
    bool has_timings;      // in each event of a stream
    bool has_chosen_probs; // probabilities are those that a token was chosen with
    bool is_verbose;       // chats have llama-server's __verbose
    int64_t ping_s; // a stream that is silent sends a comment after as many seconds; -1: never
    uint32_t n_top; // likeliest tokens that are listed with each token

    bool has_begun;   // the first answer has a slot, or the body has begun
    uint32_t n_over;  // answers that are complete
    bool is_over;     // the body is complete
    unsigned failure; // status of HTTP; 0: no failure
    struct cli_bytes body;
    size_t sent; // bytes of the body that were sent
};

// Takes over a reference to the task. scheduler: NULL for a task without jobs. The caller sets the
// fields above has_begun, and calls serve_answer_prepare, before it submits the task.
struct serve_answer *serve_answer_create(struct serve_scheduler *scheduler,
                                         const struct serve_format *format,
                                         struct serve_task *task);
// Creates the choices of a task that has all its jobs, unless they exist.
void serve_answer_prepare(struct serve_answer *answer);
// Cancels answers that have not ended. Accepts NULL.
void serve_answer_destroy(struct serve_answer *answer);

// Takes the events since the last call. Returns false if there are none.
bool serve_answer_advance(struct serve_answer *answer);

//-- for formats -----------------------------------------------------------------------------------

// Returns the log-probability of a token with those of the likeliest, for `probs` of a format.
cJSON *serve_list_probs(struct serve_answer *answer, struct serve_choice *choice,
                        const struct serve_event *event, const struct glinfer_prob *probs);
// Returns the log-probability of the token itself; -9999, as in OpenAI's API, if it is not among
// the likeliest.
float serve_token_logprob(const struct serve_event *event, const struct glinfer_prob *probs);
// Returns the text of a document to rank: a text or {"text": ...}; NULL for anything else.
const char *serve_document_text(const cJSON *document);
// Returns the stop text that ended answer `index`; "" if it ended in another way.
const char *serve_stopping_word(const struct serve_answer *answer, uint32_t index);
// Returns the object that ends an answer of /completion; is_whole: with its text.
cJSON *serve_native_result(const struct serve_answer *answer, uint32_t index, bool is_whole);
// Adds "timings" in the shape of llama-server.
void serve_add_timings(cJSON *object, const struct serve_answer *answer, uint32_t index);
