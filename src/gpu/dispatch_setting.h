// What GLINFER_DISPATCH asks for: how grids that change are dispatched, or a whole chain of steps in one dispatch
// (gpu/persistent.h). Knows no GL calls; used by gpu.c alone.
#ifndef GI_GPU_DISPATCH_SETTING_H
#define GI_GPU_DISPATCH_SETTING_H

#include "gpu/gpu.h"

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

// Reads ordinary, direct, indirect (none of them persistent), or persistent or background, each of these with
// [:groups[:size[:spins]]]; NULL and an empty text are no setting. Numbers are decimal, groups 1 to 65535, size 1
// to 1024; spins may be 0: every wait is in vain. False, with no setting in *setting, if the text is anything
// else.
bool gi_dispatch_setting_parse(const char *text, struct gi_dispatch_setting *setting);

#endif
