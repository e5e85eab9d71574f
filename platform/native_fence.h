// Kernel fences (EGL_ANDROID_native_fence_sync) after all work that the current context has
// submitted. Private to platform/; gi_platform_submit and gi_platform_fence_fd say more.
#pragma once

#include "platform/egl_util.h"

// Makes and drops a fence. False if the display has none.
bool gi_native_fence_submit(EGLDisplay display);
// Returns the descriptor of a new fence, which the caller closes; -1: there is none.
int gi_native_fence_fd(EGLDisplay display);
