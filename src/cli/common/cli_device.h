// Opening a device and a model for a command: the flags that all of them share and their order of
// failing, cheap checks first.
#ifndef CLI_DEVICE_H
#define CLI_DEVICE_H

#include "cli/common/cli_args.h"
#include "cli/common/cli_io.h"

struct cli_device_flags {
    const char *device; // NULL: auto
    bool is_verbose;
    bool is_list; // --list-devices
};

// Rows of a flag table for settings with a field of the type above.
// NOLINTBEGIN(bugprone-macro-parentheses): field is a member's name
#define CLI_DEVICE_FLAGS_OF(settings, field)                                                       \
    CLI_FLAG_TEXT(settings, field.device, "-dev, --device", "DEVICE",                              \
                  "auto (default), or one that `glinfer info` lists, such as "                     \
                  "gbm:/dev/dri/renderD128, egl:1, surfaceless"),                                  \
        CLI_FLAG_SWITCH(settings, field.is_list, "--list-devices", "list the devices and end"),    \
        CLI_FLAG_SWITCH(settings, field.is_verbose, "-v, --verbose",                               \
                        "say on stderr what is going on, the seed among it")
// NOLINTEND(bugprone-macro-parentheses)
#define CLI_DEVICE_FLAGS(settings) CLI_DEVICE_FLAGS_OF(settings, device)

extern const char *const cli_cache_types[]; // f16, f32, q8_0: enum glinfer_cache_type
extern const char *const cli_precisions[];  // auto, f32, f16: enum glinfer_precision

#define CLI_PRECISION_HELP                                                                         \
    "of products: auto (default): f16 where the device is faster with it, else f32; "              \
    "f16 or f32"

// Fills *params; software renderers are allowed. flags must outlive the device.
void cli_device_params(const struct cli_device_flags *flags, struct glinfer_device_params *params);
// Opens the device and says in one line if it is no GPU. NULL with the reason printed and the exit
// status in *status.
struct glinfer_device *cli_device_open(const struct cli_device_flags *flags,
                                       struct glinfer_device_info *info, int *status);
// The exit status where none can be used: that of wrong usage if the name is that of none.
int cli_device_refusal(const struct cli_device_flags *flags);
// Lists devices as --list-devices does; returns the exit status.
int cli_device_list(const struct cli_device_flags *flags);

// Fills *info from the file's directory; prints why the model cannot be run. Sets *status then.
bool cli_model_check(const struct glinfer_model_params *params, struct glinfer_model_info *info,
                     int *status);

#endif
