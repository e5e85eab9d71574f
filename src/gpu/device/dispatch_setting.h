// What GLINFER_DISPATCH asks for: how grids that change are dispatched, or a whole chain of steps in one dispatch
// (persistent/persistent.h). Knows no GL calls.
#ifndef GI_GPU_DISPATCH_SETTING_H
#define GI_GPU_DISPATCH_SETTING_H

#include "gpu/device/gpu.h"

// How grids that change are dispatched.
enum gi_dispatch_mode {
    GI_DISPATCH_MODE_AUTO, // as the row of the device says
    GI_DISPATCH_MODE_DIRECT,
    GI_DISPATCH_MODE_INDIRECT, // every grid, those that never change too
};

struct gi_dispatch_setting {
    bool is_set; // else all is the device's to say
    enum gi_dispatch_mode mode;
    enum gi_persistent_mode persistent_mode;
    struct gi_persistent_params persistent; // what the text does not say is 0
    bool has_spins;
};

// What is understood.
#define GI_DISPATCH_SETTING_EXPECTED                                                               \
    "ordinary, direct, indirect, or persistent or background with [:GROUPS[:SIZE[:SPINS]]], "      \
    "GROUPS 1 to 65535, SIZE 64, 128, 256, 512 or 1024"

// Reads ordinary, direct, indirect (none of them persistent), or persistent or background, these with decimal numbers
// or none; spins may be 0: every wait is in vain. NULL and an empty text are no setting. False, with no setting in
// *setting, if the text is anything else.
bool gi_dispatch_setting_parse(const char *text, struct gi_dispatch_setting *setting);

#endif
