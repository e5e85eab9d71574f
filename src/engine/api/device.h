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
    struct gi_tuning *tuning;          // what was measured here before, for sessions to record with
    struct gi_tuning_file tuning_file;
    char *cache_folder;           // of programs; owned; NULL: there is none
    char *verdict_folder;         // on executors of steps; owned; NULL: none is kept
    char *cache_dir;              // as glinfer_device_params.cache_dir; owned; NULL: the default
    bool may_compile;             // programs in the background
    struct glinfer_model *models; // that live
    bool is_busy;                 // a call is running, whose callbacks may not call back
    bool is_doomed;               // destroyed: ends with the last model
};

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
