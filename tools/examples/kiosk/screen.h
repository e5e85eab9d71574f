// A display on KMS: the first connected output of a DRM card, in the mode that it prefers. It owns
// the card's descriptor, its GBM device and the surface that is rendered into; nobody else may be
// the card's master meanwhile, so neither a desktop nor another kiosk. One thread at a time uses
// it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gbm.h>
#include <xf86drmMode.h>

enum { SCREEN_FORMAT = GBM_FORMAT_XRGB8888 };

struct screen {
    int fd; // of the card; -1: not open
    struct gbm_device *gbm;
    struct gbm_surface *surface; // (mode.vdisplay, mode.hdisplay) in SCREEN_FORMAT
    uint32_t connector, crtc;
    drmModeModeInfo mode;
    drmModeCrtc *before;           // mode of the output before ours; NULL: ours is not set yet
    struct gbm_bo *shown, *coming; // coming: shown from the next refresh on, or NULL
    char failure[128];             // the message that the functions return
};

// Opens a card such as /dev/dri/card0, or with "auto" the first one that has a display. Returns
// NULL, or what failed; screen_close is called in either case.
const char *screen_open(struct screen *screen, const char *card);
// Returns true if the surface has room for a picture: the last one is shown. Waits for nothing.
bool screen_is_ready(struct screen *screen);
// Shows what eglSwapBuffers has put into the surface, from the next refresh on. Returns NULL, or
// what failed.
const char *screen_show(struct screen *screen);
// Gives the output back what it showed before. EGL has to be done with the surface.
void screen_close(struct screen *screen);
