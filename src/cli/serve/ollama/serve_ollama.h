// A check and a description that the requests of Ollama's API share.
#pragma once

#include "cli/serve/api/serve_api.h"

// Returns true if "model" (or "name") is the model of the server, with or without :latest;
// otherwise replies with Ollama's error.
bool serve_ollama_check_model(const struct serve_api *api, const cJSON *body,
                              struct serve_reply *reply);
// Append the language model as /api/tags and /api/ps have it, if there is one.
void serve_ollama_add_file(const struct serve_api *api, cJSON *list);
void serve_ollama_add_loaded(const struct serve_api *api, cJSON *list);
// Appends the members that both have, if there is a language model, and returns it.
cJSON *serve_ollama_add_model(const struct serve_api *api, cJSON *list);
