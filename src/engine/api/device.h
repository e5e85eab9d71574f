// glinfer_device: a platform, its GL side and the programs compiled on it.
#ifndef GI_ENGINE_DEVICE_H
#define GI_ENGINE_DEVICE_H

#include "engine/measure/tuning_file.h"
#include "gpu/device/settings.h"
#include "gpu/program/program_table.h"

struct glinfer_model;

struct glinfer_device {
    struct gi_log log;
    struct gi_settings settings;
    struct gi_platform *platform;
    struct gi_gpu *gpu;
    struct gi_program_table *programs; // shared by all sessions
    struct gi_tuning *tuning;          // shapes measured on this device, which sessions record with
    struct gi_tuning_file tuning_file;
    char *cache_folder;           // of programs; owned; NULL: there is none
    char *verdict_folder;         // on executors of steps; owned; NULL: none is kept
    char *cache_dir;              // as glinfer_device_params.cache_dir; owned; NULL: the default
    bool may_compile;             // programs in the background
    struct glinfer_host_gl host;  // of the caller; display NULL: none
    struct glinfer_model *models; // that live
    bool is_busy;                 // a call is running, whose callbacks may not call back
    bool is_doomed;               // destroyed: ends with the last model, or with the call that runs
    int wake_fd, timer_fd;        // of glinfer_device_fd (engine/answer/wake.h); -1: none
    const struct glinfer_session *last_turn; // in glinfer_step; compared alone
    const struct glinfer_session *answering; // in glinfer_generate; compared alone
};

// True unless the call comes from a callback of a call that runs, or from a process that was
// forked; else false with INVALID_ARGUMENT.
bool gi_device_is_free(const struct glinfer_device *device, struct glinfer_error *err);
// Enters the device's GPU (gi_gpu_enter) for a call whose callbacks may not call back. Fails as
// these two.
bool gi_device_enter(struct glinfer_device *device, struct gi_platform_saved *saved,
                     struct glinfer_error *err);
void gi_device_leave(struct glinfer_device *device, const struct gi_platform_saved *saved);

// Ends the answers and destroys the sessions and models that a callback of the call has ended and
// destroyed, maybe the device with them; the last thing that a call does. Does nothing inside a
// callback.
void gi_device_end_call(struct glinfer_device *device);

// Opens the same device again, with a new context, in place of the one that was lost; release
// destroys what was made on that one. Fails as glinfer_device_create does: nothing has changed if
// the device cannot be opened, else the device has no programs.
bool gi_device_reopen(struct glinfer_device *device, void (*release)(struct glinfer_device *device),
                      struct glinfer_error *err);

// Creates a device as glinfer_device_create does from whole params, with settings, which are
// copied, in place of the environment's.
struct glinfer_device *gi_device_create(const struct glinfer_device_params *params,
                                        const struct gi_settings *settings,
                                        struct glinfer_error *err);

#endif
