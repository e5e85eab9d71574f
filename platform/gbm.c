// GBM on a DRM render node. The node is opened by us and its gbm_device is ours alone, so the
// display is, too.
#include "platform/egl_util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gbm.h>
#include <xf86drm.h>

enum { MAX_NODES = 64 };

static void add_node(struct gi_platform_candidate *out, size_t cap, size_t *n, const char *path)
{
    if (*n < cap) {
        int size = snprintf(out[*n].device, sizeof(out[*n].device), "gbm:%s", path);
        *n += size > 0 && (size_t)size < sizeof(out[*n].device);
    }
}

static size_t list_with_libdrm(struct gi_platform_candidate *out, size_t cap)
{
    drmDevicePtr devices[MAX_NODES];
    int n_devices = drmGetDevices2(0, devices, MAX_NODES);
    size_t n = 0;
    if (n_devices <= 0) {
        return 0;
    }
    if (n_devices > MAX_NODES) {
        n_devices = MAX_NODES;
    }
    for (int i = 0; i < n_devices; i++) {
        if (devices[i]->available_nodes & (1 << DRM_NODE_RENDER)) {
            add_node(out, cap, &n, devices[i]->nodes[DRM_NODE_RENDER]);
        }
    }
    drmFreeDevices(devices, n_devices);
    return n;
}

// libdrm skips a device whose bus it does not know or cannot read in /sys, as in some containers.
static size_t list_directory(struct gi_platform_candidate *out, size_t cap)
{
    DIR *directory = opendir(DRM_DIR_NAME);
    size_t n = 0;
    if (directory == NULL) {
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, DRM_RENDER_MINOR_NAME, strlen(DRM_RENDER_MINOR_NAME)) == 0) {
            char path[sizeof(DRM_DIR_NAME) + sizeof(entry->d_name)];
            snprintf(path, sizeof(path), DRM_DIR_NAME "/%s", entry->d_name);
            add_node(out, cap, &n, path);
        }
    }
    closedir(directory);
    return n;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct gi_platform_candidate *)a)->device,
                  ((const struct gi_platform_candidate *)b)->device);
}

static size_t list_nodes(struct gi_platform_candidate *out, size_t cap, struct glinfer_error *err)
{
    size_t n = list_with_libdrm(out, cap);
    if (n == 0) {
        n = list_directory(out, cap);
    }
    if (n == 0) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "no DRM render node in " DRM_DIR_NAME);
    }
    if (n > 1) {
        qsort(out, n, sizeof(*out), compare_names);
    }
    return n;
}

static bool open_node(struct gi_egl_display *display, const char *path, struct glinfer_error *err)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        const char *advice = errno == EACCES || errno == EPERM
                                 ? "; add the user to the group that owns it, mostly \"render\""
                                 : "";
        return gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "cannot be opened (%s)%s",
                            strerror(errno), advice);
    }
    drmVersionPtr version = drmGetVersion(fd);
    if (version == NULL) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "not a DRM device");
        goto fail;
    }
    drmFreeVersion(version);
    display->gbm = gbm_create_device(fd);
    if (display->gbm == NULL) {
        gi_error_set(err, GLINFER_STATUS_NO_DEVICE, "no GBM driver (gbm_create_device: %s)",
                     strerror(errno));
        goto fail;
    }
    display->fd = fd;
    return true;

fail:
    close(fd);
    return false;
}

static bool open_gbm(struct gi_egl_display *display, const char *device, struct glinfer_error *err)
{
    if (!gi_egl_require("EGL_KHR_platform_gbm", "EGL_MESA_platform_gbm", err)) {
        return false;
    }
    return open_node(display, device, err) &&
           gi_egl_display_init(display, EGL_PLATFORM_GBM_KHR, display->gbm, true, err);
}

static void close_gbm(struct gi_egl_display *display)
{
    gi_egl_display_finish(display);
    if (display->gbm != NULL) {
        gbm_device_destroy(display->gbm);
        close(display->fd);
        display->gbm = NULL;
    }
}

const struct gi_backend gi_backend_gbm = {
    .name = "gbm",
    .list = list_nodes,
    .open = open_gbm,
    .close = close_gbm,
};
