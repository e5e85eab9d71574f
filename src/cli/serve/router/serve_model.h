// A model of the server with all that the server keeps for it: its settings, the thread that
// computes with it, and the interface to it.
#pragma once

#include "cli/serve/api/serve_api.h"

struct serve_model {
    struct serve_settings *settings; // borrowed
    char *name;                      // of --alias; owned. NULL: not given
    char *variables;                 // of the chat template, by default; owned
    struct serve_lora lora;
    struct serve_scheduler *scheduler; // NULL: closed
    struct serve_api api;              // of the scheduler
};

void serve_model_init(struct serve_model *model, struct serve_settings *settings);
// Closes the model, and frees what it owns. Accepts one that is all zero.
void serve_model_finish(struct serve_model *model);

// Begins to load what the settings name. Prints an error and returns false if that fails.
bool serve_model_open(struct serve_model *model);
// Ends the thread and gives the memory of the device back.
void serve_model_close(struct serve_model *model);
