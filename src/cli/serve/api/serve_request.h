// A request for answers, from its JSON to the scheduler.
#pragma once

#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/api/serve_api.h"

// A request while it is read: its first mistake, its task, and the answer that writes its body.
struct serve_request {
    const struct serve_api *api;
    const struct glinfer_tokenizer *tokenizer; // borrowed
    struct serve_fields fields;
    struct serve_answer *answer; // owned up to serve_request_close
    struct serve_task *task;     // borrowed from the answer
    uint64_t seed;               // of the first answer to each prompt
    int64_t n_choices;           // answers to each prompt
};

// Begins a request and takes its body over; the body may be NULL.
void serve_request_open(struct serve_request *request, const struct serve_api *api, cJSON *body,
                        const struct serve_format *format);
// Passes a field to add: as it is, or each of its items if it is a list of inputs. Refuses an empty
// list.
void serve_request_each(struct serve_request *request, const char *name, const cJSON *input,
                        bool is_list,
                        void (*add)(struct serve_request *request, const cJSON *input));
// Answers a request whose fields are those of OpenAI's chats, or of its completions and
// llama-server's, in a format. They take the body over.
void serve_chat(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                struct serve_reply *reply);
void serve_complete(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                    struct serve_reply *reply);
// Answers a request for embeddings in a format; is_native: also of single tokens.
void serve_embed(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                 bool is_native, struct serve_reply *reply);
// Submits the task and makes the answer the reply, or replies with an error.
void serve_request_close(struct serve_request *request, struct serve_reply *reply);
