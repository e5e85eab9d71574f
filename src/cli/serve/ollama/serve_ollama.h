// A check and a description that the requests of Ollama's API share.
#pragma once

#include "cli/serve/api/serve_api.h"

// Returns true if "model" (or "name") is the model of the server, with or without :latest;
// otherwise replies with Ollama's error.
bool serve_ollama_check_model(const struct serve_api *api, const cJSON *body,
                              struct serve_reply *reply);
// Appends the language model as /api/tags has it, if there is one, and returns it.
cJSON *serve_ollama_add_model(const struct serve_api *api, cJSON *list);
