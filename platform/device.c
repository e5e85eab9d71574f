// An EGL device by its number in eglQueryDevicesEXT: the way to NVIDIA's driver, which needs
// neither a display server nor access to a render node. Mesa lists a device for its software
// renderers, too.
#include "platform/egl_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

// Fills devices[MAX_DEVICES] and returns how many there are; for none, *err says why.
static size_t query_devices(EGLDeviceEXT *devices, struct glinfer_error *err)
{
    PFNEGLQUERYDEVICESEXTPROC query =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    EGLint n = 0;
    if (!gi_egl_require("EGL_EXT_platform_device", NULL, err) ||
        !gi_egl_require("EGL_EXT_device_enumeration", "EGL_EXT_device_base", err)) {
        return 0;
    }
    if (query == NULL) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "libEGL has no eglQueryDevicesEXT");
        return 0;
    }
    if (!query(MAX_DEVICES, devices, &n)) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "eglQueryDevicesEXT failed: %s",
                     gi_egl_error_name(eglGetError()));
        return 0;
    }
    if (n < 1) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                     "there is no EGL device: no EGL driver is installed, or none found a GPU");
        return 0;
    }
    return (size_t)n;
}

static size_t list_devices(struct gi_platform_candidate *out, size_t cap, struct glinfer_error *err)
{
    EGLDeviceEXT devices[MAX_DEVICES];
    size_t n = query_devices(devices, err);
    n = n < cap ? n : cap;
    for (size_t i = 0; i < n; i++) {
        snprintf(out[i].device, sizeof(out[i].device), "egl:%zu", i);
    }
    return n;
}

static bool open_device(struct gi_egl_display *display, const char *device,
                        struct glinfer_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long i = strtoul(device, &end, 10);
    if (device[0] < '0' || device[0] > '9' || *end != '\0' || errno != 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "device \"egl:%s\": \"egl:\" is followed by a number, as in egl:0",
                            device);
    }
    EGLDeviceEXT devices[MAX_DEVICES];
    size_t n = query_devices(devices, err);
    if (n == 0) {
        return false;
    }
    if (i >= n) {
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE,
                            "there is no such EGL device; the last one is egl:%zu", n - 1);
    }
    return gi_egl_display_init(display, EGL_PLATFORM_DEVICE_EXT, devices[i], false, err);
}

const struct gi_backend gi_backend_device = {
    .name = "egl",
    .list = list_devices,
    .open = open_device,
    .close = gi_egl_display_finish,
};
