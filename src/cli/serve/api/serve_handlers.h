// The handlers of the API's paths. Those of POST get the request's JSON and take it over.
#ifndef SERVE_HANDLERS_H
#define SERVE_HANDLERS_H

#include "cli/serve/answer/serve_answer.h"
#include "cli/serve/api/serve_api.h"

// Tell of the server: serve_status.c.
void serve_handle_health(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_models(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_props(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_slots(const struct serve_api *api, struct serve_reply *reply);
// Tells of the one model that there is.
void serve_handle_model(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_metrics(const struct serve_api *api, struct serve_reply *reply);

// Need the vocabulary alone: serve_tokens.c.
void serve_handle_tokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_detokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_template(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Ask the model: serve_requests.c.
void serve_handle_completion(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_completions(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_chat(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Ask it for embeddings, in OpenAI's shape and in llama-server's: serve_embeddings.c.
void serve_handle_embeddings(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_rerank(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_embedding(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Has the scheduler take the answer's task in, and makes it the reply; false with an error in its
// place.
bool serve_submit(const struct serve_api *api, struct serve_answer *answer,
                  struct serve_reply *reply);

// Asks a slot for what it holds, or gives it that: serve_slot.c. The body may be NULL.
void serve_handle_slot(const struct serve_api *api, const struct serve_call *call, cJSON *body,
                       struct serve_reply *reply);

#endif
