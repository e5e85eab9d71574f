// glinfer_device: a platform, its GL side and the programs compiled on it.
#pragma once

#include "engine/device/tuning_file.h"
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
    int wake_fd, timer_fd;        // of glinfer_device_fd (engine/device/wake.h); -1: none
    const struct glinfer_session *last_turn; // in glinfer_step; compared alone
    const struct glinfer_session *answering; // in glinfer_generate; compared alone
};

// Checks that the call comes neither from a callback of a running call nor from a forked process.
// Fails with INVALID_ARGUMENT.
bool gi_device_is_free(const struct glinfer_device *device, struct glinfer_error *err);
// Enters the device's GPU (gi_gpu_enter) for a call whose callbacks must not call back. Fails as
// gi_device_is_free and gi_gpu_enter do.
bool gi_device_enter(struct glinfer_device *device, struct gi_platform_saved *saved,
                     struct glinfer_error *err);
void gi_device_leave(struct glinfer_device *device, const struct gi_platform_saved *saved);

// Opens the platform and the GPU as params, which are whole, say; settings are set. On failure the
// device must be closed.
bool gi_device_open(struct glinfer_device *device, const struct glinfer_device_params *params,
                    struct glinfer_error *err);
// Creates the program table of an open device, which must be closed on failure.
bool gi_device_create_programs(struct glinfer_device *device, struct glinfer_error *err);
// Frees what the device holds. It has no models.
void gi_device_close(struct glinfer_device *device);

// Opens the device again with a new context; release destroys the objects of the lost one. Fails as
// glinfer_device_create does: if the device cannot be opened nothing changes, otherwise the device
// has no programs.
bool gi_device_reopen(struct glinfer_device *device, void (*release)(struct glinfer_device *device),
                      struct glinfer_error *err);
