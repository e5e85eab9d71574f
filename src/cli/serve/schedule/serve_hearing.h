// The speech model of the server. One sound is transcribed at a time, in steps that alternate with
// the steps of the answers. Only the GPU thread uses this module, with two exceptions:
// serve_hearing_find is called before that thread starts, and any thread may read is_busy.
#pragma once

#include "cli/serve/schedule/serve_task.h"
#include "cli/serve/serve_settings.h"

struct serve_hearing {
    const char *path;               // of the model; NULL: the server has none
    struct glinfer_model_info info; // of its file
    struct glinfer_source vad;      // its path is NULL if all sound is transcribed
    char vad_path[MODELS_MAX_PATH];
    struct glinfer_model *model;                 // owned
    struct serve_job *job;                       // the job being transcribed; NULL: idle
    atomic_bool is_busy;                         // whether job is set, for other threads
    struct glinfer_transcription *transcription; // of the job; owned
};

// Finds the files of the speech model and of the network that finds speech. Returns false with the
// reason printed.
bool serve_hearing_find(struct serve_hearing *hearing, const struct serve_settings *settings);
// Loads the model, if there is one. Fails as glinfer_model_load does.
bool serve_hearing_load(struct serve_hearing *hearing, const struct serve_settings *settings,
                        struct glinfer_device *device, struct glinfer_error *err);
void serve_hearing_finish(struct serve_hearing *hearing);

// Begins to transcribe the sound of a job. Fails as glinfer_transcription_create does.
bool serve_hearing_begin(struct serve_hearing *hearing, struct serve_job *job,
                         struct glinfer_error *err);
enum serve_hearing_end {
    SERVE_HEARING_WORKS, // the job has not ended
    SERVE_HEARING_DONE,
    SERVE_HEARING_FAILED,
    SERVE_HEARING_CANCELLED,
};
// Works for about budget_us microseconds. Sends the last event of a job that ends. Sets err if it
// returns SERVE_HEARING_FAILED: as glinfer_transcription_step does, or because the sound cannot be
// read.
enum serve_hearing_end serve_hearing_step(struct serve_hearing *hearing, uint32_t budget_us,
                                          struct glinfer_error *err);
// Fails the job, if there is one.
void serve_hearing_fail(struct serve_hearing *hearing, const struct glinfer_error *err);
