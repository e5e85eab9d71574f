// A check and a description that the requests of Ollama's API share.
#pragma once

#include "cli/serve/api/serve_api.h"

// Returns true if "model" (or "name") is the model of the server, with or without :latest;
// otherwise replies with Ollama's error.
bool serve_ollama_check_model(const struct serve_api *api, const cJSON *body,
                              struct serve_reply *reply);
// Reads "keep_alive", seconds or a duration such as "1h30m"; less than 0: for ever. Returns false
// with *is_there if it is invalid, and without it if it is missing.
bool serve_ollama_read_keep(const cJSON *body, double *seconds, bool *is_there);
// Returns true for a request without a prompt whose "keep_alive" is 0: it unloads the model.
bool serve_ollama_is_farewell(const cJSON *body);
// Append the language model as /api/tags and /api/ps have it, if there is one.
void serve_ollama_add_file(const struct serve_api *api, cJSON *list);
void serve_ollama_add_loaded(const struct serve_api *api, cJSON *list);
// Appends the members that both have, if there is a language model, and returns it.
cJSON *serve_ollama_add_model(const struct serve_api *api, cJSON *list);
