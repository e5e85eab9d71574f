#include "platform/native_fence.h"

#include <GLES3/gl31.h>

// Creates a kernel fence after all submitted work; EGL_NO_SYNC_KHR if the driver has no fences.
static EGLSyncKHR create_fence(EGLDisplay display)
{
    if (!gi_egl_has(eglQueryString(display, EGL_EXTENSIONS), "EGL_ANDROID_native_fence_sync")) {
        return EGL_NO_SYNC_KHR;
    }
    const PFNEGLCREATESYNCKHRPROC create =
        (PFNEGLCREATESYNCKHRPROC)eglGetProcAddress("eglCreateSyncKHR");
    const EGLSyncKHR sync =
        create ? create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, NULL) : EGL_NO_SYNC_KHR;
    if (sync != EGL_NO_SYNC_KHR) {
        glFlush(); // only then is there a fence
    } else {
        eglGetError();
    }
    return sync;
}

static void destroy_fence(EGLDisplay display, EGLSyncKHR sync)
{
    const PFNEGLDESTROYSYNCKHRPROC destroy =
        (PFNEGLDESTROYSYNCKHRPROC)eglGetProcAddress("eglDestroySyncKHR");
    if (destroy) {
        destroy(display, sync);
    }
}

bool gi_native_fence_submit(EGLDisplay display)
{
    const EGLSyncKHR sync = create_fence(display);
    if (sync == EGL_NO_SYNC_KHR) {
        return false;
    }
    destroy_fence(display, sync);
    return true;
}

int gi_native_fence_fd(EGLDisplay display)
{
    const PFNEGLDUPNATIVEFENCEFDANDROIDPROC get_fd =
        (PFNEGLDUPNATIVEFENCEFDANDROIDPROC)eglGetProcAddress("eglDupNativeFenceFDANDROID");
    const EGLSyncKHR sync = get_fd ? create_fence(display) : EGL_NO_SYNC_KHR;
    if (sync == EGL_NO_SYNC_KHR) {
        return -1;
    }
    const int fd = get_fd(display, sync); // EGL_NO_NATIVE_FENCE_FD_ANDROID is -1
    if (fd < 0) {
        eglGetError();
    }
    destroy_fence(display, sync);
    return fd;
}
