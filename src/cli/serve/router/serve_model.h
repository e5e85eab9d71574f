// A model of the server with all that the server keeps for it: its settings, the thread that
// computes with it while it is loaded, and the interface to it. The router says who may use a
// model, and when.
#pragma once

#include "cli/serve/api/serve_api.h"
#include "cli/serve/router/serve_preset.h"

#include <sys/queue.h>

enum serve_model_state {
    SERVE_MODEL_UNLOADED,
    SERVE_MODEL_LOADING,
    SERVE_MODEL_LOADED,
    SERVE_MODEL_LEAVING, // is being unloaded
    SERVE_MODEL_SLEEPING,
};

struct serve_model {
    TAILQ_ENTRY(serve_model) place;
    struct serve_settings *settings; // owned if the model has an origin
    char *origin;                    // where it was found, and its preset; owned. NULL: -m
    char *path;                      // of its file; owned. NULL: not yet known
    struct serve_texts texts;        // that the settings point to
    char *name;                      // owned; NULL: that of its file
    char *variables;                 // of the chat template, by default; owned
    struct serve_lora lora;
    struct glinfer_model_info info;
    uint64_t needed;                   // bytes on the device, an estimate; 0: unknown
    char *template_text;               // owned; NULL: it was never loaded
    struct serve_counts counts;        // up to the last time that it was unloaded
    struct serve_scheduler *scheduler; // owned; NULL: it is not loaded
    struct serve_api api;              // of the scheduler
    struct serve_reply *kept;          // replies while it sleeps; owned. NULL: none

    // Used by the router, under its lock:
    enum serve_model_state state;
    uint32_t n_users; // requests that use it
    uint64_t ticket;  // its turn to be loaded; 0: nobody wants it
    double used;      // cli_now() at the end of its last request
    double leaves;    // cli_now() at which its answers are cut, since it was to be unloaded; 0: not
    bool is_cut;      // they were
    bool has_keep;    // its last request said for how long it stays:
    double keep_s;    // seconds; less than 0: for ever
    bool is_wanted;   // without a request
    bool is_pinned;   // never leaves
    bool is_on_start; // loaded when the server starts
    bool is_hidden;   // in lists
    bool hides_cached;   // others of the same file are hidden
    bool is_gone;        // from the place where it was found
    bool is_found;       // while models are found again
    bool is_downloading; // its file
    bool has_failed;     // to load, the last time
    int64_t cut_after;   // seconds that answers have once it was to be unloaded
};

// Makes the model of -m and --speech-model. has_ending: its name is that of its file with the
// ending, unless --alias has one.
void serve_model_init(struct serve_model *model, struct serve_settings *settings, bool has_ending);
// Sets the interface once name, settings, path and info are set.
void serve_model_prepare(struct serve_model *model);
// Closes the model, and frees what it owns.
void serve_model_finish(struct serve_model *model);

// Reads the header of the model's file, if it is here, to fill info and needed. Returns false if
// glinfer cannot run it.
bool serve_model_inspect(struct serve_model *model, struct glinfer_error *err);
// Begins to load what the settings name, within a budget of bytes; 0: unlimited. Prints an error
// and returns false if that fails.
bool serve_model_open(struct serve_model *model, uint64_t budget);
// Waits until the model is loaded. Returns false with the reason printed.
bool serve_model_wait(struct serve_model *model, struct glinfer_error *err);
// Sets what the interface tells of a model that is open.
void serve_model_show(struct serve_model *model);
// Returns what it tells of itself while it sleeps: serve_api_keep.
struct serve_reply *serve_model_tell(const struct serve_model *model);
// Returns its name, or that of its file.
const char *serve_model_name(const struct serve_model *model);
// Ends the thread and gives the memory of the device back. Nobody uses the interface's scheduler.
void serve_model_close(struct serve_model *model);
