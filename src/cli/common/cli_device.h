// The device of a command and the flags that choose it.
#pragma once

#include "cli/common/cli_args.h"
#include "cli/common/cli_io.h"

struct cli_device_flags {
    const char *device; // NULL: auto
    int verbosity;      // 0; 1: GLINFER_LOG_INFO too; 2: GLINFER_LOG_DEBUG too
    bool is_low_priority;
    bool is_list; // --list-devices
    bool is_quiet;
};

// Rows of a flag table for settings with a field `session`, a struct cli_session_flags.
#define CLI_DEVICE_FLAGS                                                                           \
    CLI_TEXT(session.device.device, "-dev, --device", "DEVICE",                                    \
             "auto (default), or one that `glinfer info` lists, such as gbm:/dev/dri/renderD128, " \
             "egl:1, surfaceless"),                                                                \
        CLI_SWITCH(session.device.is_list, "--list-devices", "list the devices and exit"),         \
        CLI_LEVEL(session.device.verbosity, 1, "-v, --verbose, --log-verbose",                     \
                  "log details to stderr: device, model, memory, seed"),                           \
        CLI_LEVEL(session.device.verbosity, 2, "-vv",                                              \
                  "also log compilation and submissions, for a bug report"),                       \
        CLI_SWITCH(session.device.is_quiet, "-q, --quiet, --log-disable", "print errors only")

extern const char *const cli_cache_types[]; // f16, f32, q8_0, q4_0: enum glinfer_cache_type
extern const char *const cli_precisions[];  // auto, f32, f16: enum glinfer_precision

#define CLI_PRECISION_HELP                                                                         \
    "of products: auto (default): f16 where the device is faster with it, else f32; f16 or f32"

// Fills *params; software renderers are allowed. flags must outlive the device.
void cli_device_params(const struct cli_device_flags *flags, struct glinfer_device_params *params);
// Opens the device and notes in one line if it is not a GPU. Returns NULL with the reason printed.
struct glinfer_device *cli_device_open(const struct cli_device_flags *flags,
                                       struct glinfer_device_info *info);
// Notes the exit status for devices of which none can be used: wrong usage if the name is unknown.
// Returns false.
bool cli_device_refuse(const struct cli_device_flags *flags);
// Lists devices as --list-devices does; false if none can be used.
bool cli_device_list(const struct cli_device_flags *flags);
