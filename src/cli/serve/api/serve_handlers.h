// The handlers of the API's paths. Handlers of POST take over the JSON of the request.
#pragma once

#include "cli/serve/api/serve_api.h"

// State and settings of the server: status/serve_status.c.
void serve_handle_health(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_models(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_props(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_slots(const struct serve_api *api, struct serve_reply *reply);
// Appends the models of an interface as /v1/models has them.
void serve_add_models(const struct serve_api *api, cJSON *list);
// Replies with one of the server's models; with an error if no model has the name.
void serve_handle_model(const struct serve_api *api, const char *name, struct serve_reply *reply);
// Sums for Prometheus: status/serve_metrics.c.
void serve_handle_metrics(const struct serve_api *api, struct serve_reply *reply);

// Tell and set the default scales of LoRA adapters: schedule/serve_lora.c. The body is a list.
void serve_handle_adapters(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_set_adapters(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Requests that need only the vocabulary: serve_tokens.c; and the template: serve_template.c.
void serve_handle_tokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_detokenize(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_template(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
// Counts the tokens of a chat.
void serve_handle_count(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Requests for text: serve_completions.c.
void serve_handle_completion(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_completions(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_chat(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Requests for embeddings, in the shapes of OpenAI and llama-server: serve_embeddings.c.
void serve_handle_embeddings(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_rerank(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_embedding(const struct serve_api *api, cJSON *body, struct serve_reply *reply);

// Requests to transcribe sound, which are forms: upload/serve_transcriptions.c.
void serve_handle_transcription(const struct serve_api *api, const struct serve_call *call,
                                struct serve_reply *reply);
// whisper-server's /load: the server has the model already, or refuses.
void serve_handle_load(const struct serve_api *api, const struct serve_call *call,
                       struct serve_reply *reply);

// Saves, restores or erases a slot: status/serve_slot.c. The body may be NULL.
void serve_handle_slot(const struct serve_api *api, const struct serve_call *call, cJSON *body,
                       struct serve_reply *reply);

// Ollama's API: ollama/serve_ollama.c, and its models: ollama/serve_ollama_models.c.
void serve_handle_ollama_chat(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_ollama_generate(const struct serve_api *api, cJSON *body,
                                  struct serve_reply *reply);
void serve_handle_ollama_embed(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_ollama_embedding(const struct serve_api *api, cJSON *body,
                                   struct serve_reply *reply);
void serve_handle_ollama_show(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_ollama_pull(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_ollama_tags(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_ollama_ps(const struct serve_api *api, struct serve_reply *reply);
void serve_handle_ollama_version(const struct serve_api *api, struct serve_reply *reply);

// OpenAI's Responses API, and the number of tokens of such a request: responses/serve_responses.c.
void serve_handle_responses(const struct serve_api *api, cJSON *body, struct serve_reply *reply);
void serve_handle_responses_count(const struct serve_api *api, cJSON *body,
                                  struct serve_reply *reply);
