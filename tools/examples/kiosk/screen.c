#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

static const char *fail(struct screen *screen, const char *what)
{
    snprintf(screen->failure, sizeof(screen->failure), "%s: %s", what, strerror(errno));
    return screen->failure;
}

//-- the output ------------------------------------------------------------------------------------

static const drmModeModeInfo *preferred_mode(const drmModeConnector *connector)
{
    for (int i = 0; i < connector->count_modes; i++) {
        if (connector->modes[i].type & DRM_MODE_TYPE_PREFERRED) {
            return &connector->modes[i];
        }
    }
    return connector->modes;
}

// Returns a CRTC that can feed the connector, best the one that does; 0: there is none.
static uint32_t find_crtc(int fd, const drmModeRes *resources, const drmModeConnector *connector)
{
    uint32_t crtc = 0;
    drmModeEncoder *encoder = drmModeGetEncoder(fd, connector->encoder_id);
    if (encoder) {
        crtc = encoder->crtc_id;
        drmModeFreeEncoder(encoder);
    }
    for (int i = 0; crtc == 0 && i < connector->count_encoders; i++) {
        encoder = drmModeGetEncoder(fd, connector->encoders[i]);
        for (int k = 0; encoder && crtc == 0 && k < resources->count_crtcs; k++) {
            crtc = encoder->possible_crtcs >> k & 1 ? resources->crtcs[k] : 0;
        }
        drmModeFreeEncoder(encoder);
    }
    return crtc;
}

// Takes the first output of the card that a display is at.
static bool find_output(struct screen *screen)
{
    drmModeRes *resources = drmModeGetResources(screen->fd);
    for (int i = 0; resources && screen->crtc == 0 && i < resources->count_connectors; i++) {
        drmModeConnector *connector = drmModeGetConnector(screen->fd, resources->connectors[i]);
        if (connector && connector->connection == DRM_MODE_CONNECTED &&
            connector->count_modes > 0) {
            screen->crtc = find_crtc(screen->fd, resources, connector);
            screen->connector = connector->connector_id;
            screen->mode = *preferred_mode(connector);
        }
        drmModeFreeConnector(connector);
    }
    drmModeFreeResources(resources);
    return screen->crtc != 0;
}

static const char *open_card(struct screen *screen, const char *path)
{
    screen->fd = open(path, O_RDWR | O_CLOEXEC);
    if (screen->fd < 0) {
        return fail(screen, path);
    }
    if (!find_output(screen)) {
        snprintf(screen->failure, sizeof(screen->failure), "%s: no display is connected", path);
        return screen->failure;
    }
    screen->gbm = gbm_create_device(screen->fd);
    screen->surface =
        screen->gbm ? gbm_surface_create(screen->gbm, screen->mode.hdisplay, screen->mode.vdisplay,
                                         SCREEN_FORMAT, GBM_BO_USE_SCANOUT | GBM_BO_USE_RENDERING)
                    : NULL;
    return screen->surface ? NULL : fail(screen, path);
}

const char *screen_open(struct screen *screen, const char *card)
{
    enum { MAX_CARDS = 16 };
    const char *failure = NULL;
    *screen = (struct screen){.fd = -1};
    if (strcmp(card, "auto") != 0) {
        return open_card(screen, card);
    }
    for (int i = 0; i < MAX_CARDS; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/dri/card%d", i);
        if (access(path, F_OK) == 0) {
            screen_close(screen);
            failure = open_card(screen, path);
            if (!failure) {
                return NULL;
            }
        }
    }
    return failure ? failure : "there is no card in /dev/dri";
}

//-- pictures --------------------------------------------------------------------------------------

static void forget_framebuffer(struct gbm_bo *bo, void *data)
{
    uint32_t *id = data;
    drmModeRmFB(gbm_device_get_fd(gbm_bo_get_device(bo)), *id);
    free(id);
}

// Returns the KMS framebuffer of a buffer of the surface, made once; 0 if it cannot be.
static uint32_t framebuffer_of(const struct screen *screen, struct gbm_bo *bo)
{
    uint32_t *id = gbm_bo_get_user_data(bo);
    if (id) {
        return *id;
    }
    id = malloc(sizeof(*id));
    if (!id || drmModeAddFB(screen->fd, gbm_bo_get_width(bo), gbm_bo_get_height(bo), 24, 32,
                            gbm_bo_get_stride(bo), gbm_bo_get_handle(bo).u32, id) != 0) {
        free(id);
        return 0;
    }
    gbm_bo_set_user_data(bo, id, forget_framebuffer);
    return *id;
}

static void take_flip(int fd, unsigned frame, unsigned seconds, unsigned microseconds, void *data)
{
    struct screen *screen = data;
    (void)fd, (void)frame, (void)seconds, (void)microseconds;
    if (screen->shown) {
        gbm_surface_release_buffer(screen->surface, screen->shown);
    }
    screen->shown = screen->coming;
    screen->coming = NULL;
}

static void take_events(struct screen *screen, int wait_ms)
{
    drmEventContext context = {.version = 2, .page_flip_handler = take_flip};
    struct pollfd item = {.fd = screen->fd, .events = POLLIN};
    if (screen->coming && poll(&item, 1, wait_ms) > 0) {
        drmHandleEvent(screen->fd, &context);
    }
}

bool screen_is_ready(struct screen *screen)
{
    take_events(screen, 0);
    return !screen->coming && gbm_surface_has_free_buffers(screen->surface);
}

// The first picture sets the mode, later ones are exchanged with the refresh.
const char *screen_show(struct screen *screen)
{
    struct gbm_bo *bo = gbm_surface_lock_front_buffer(screen->surface);
    const uint32_t framebuffer = bo ? framebuffer_of(screen, bo) : 0;
    int status = -1;
    if (framebuffer && !screen->before) {
        screen->before = drmModeGetCrtc(screen->fd, screen->crtc);
        status = drmModeSetCrtc(screen->fd, screen->crtc, framebuffer, 0, 0, &screen->connector, 1,
                                &screen->mode);
        screen->shown = bo;
    } else if (framebuffer) {
        status = drmModePageFlip(screen->fd, screen->crtc, framebuffer, DRM_MODE_PAGE_FLIP_EVENT,
                                 screen);
        screen->coming = status == 0 ? bo : NULL;
    }
    if (status != 0 && bo && bo != screen->shown) {
        gbm_surface_release_buffer(screen->surface, bo);
    }
    return status == 0 ? NULL : fail(screen, "the display takes no picture");
}

void screen_close(struct screen *screen)
{
    enum { FLIP_MS = 200 }; // that the last picture may take
    if (screen->fd < 0) {
        return;
    }
    take_events(screen, FLIP_MS);
    if (screen->before) {
        drmModeSetCrtc(screen->fd, screen->before->crtc_id, screen->before->buffer_id,
                       screen->before->x, screen->before->y, &screen->connector, 1,
                       &screen->before->mode);
        drmModeFreeCrtc(screen->before);
    }
    if (screen->shown) {
        gbm_surface_release_buffer(screen->surface, screen->shown);
    }
    if (screen->surface) {
        gbm_surface_destroy(screen->surface);
    }
    if (screen->gbm) {
        gbm_device_destroy(screen->gbm);
    }
    close(screen->fd);
    *screen = (struct screen){.fd = -1};
}
