// Mesa's surfaceless platform: the driver that the loader chooses, without a node or a device. What
// is left where there is no render node: software renderers, and programs' tests.
#include "platform/egl_util.h"

#include <stdio.h>

static size_t list_surfaceless(struct gi_platform_candidate *out, size_t cap,
                               struct glinfer_error *err)
{
    if (!gi_egl_require("EGL_MESA_platform_surfaceless", NULL, err)) {
        return 0;
    }
    if (cap > 0) {
        snprintf(out[0].device, sizeof(out[0].device), "surfaceless");
    }
    return 1;
}

static bool open_surfaceless(struct gi_egl_display *display, const char *device,
                             struct glinfer_error *err)
{
    if (device[0] != '\0') {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "device \"surfaceless:%s\": nothing may follow \"surfaceless\"",
                            device);
    }
    if (list_surfaceless(NULL, 0, err) == 0) {
        return false;
    }
    return gi_egl_display_init(display, EGL_PLATFORM_SURFACELESS_MESA, NULL, false, err);
}

const struct gi_backend gi_backend_surfaceless = {
    .name = "surfaceless",
    .list = list_surfaceless,
    .open = open_surfaceless,
    .close = gi_egl_display_finish,
};
