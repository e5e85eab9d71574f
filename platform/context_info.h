// Describes the current context and its abilities. Private to platform/.
#pragma once

#include "platform/egl_util.h"

// Fills what GL tells of the current context, which was made with the features *got. Fails with
// NO_DEVICE if it is older than OpenGL ES 3.1.
bool gi_context_read_info(struct gi_platform_info *info, const struct gi_egl_display *display,
                          const struct gi_egl_context_features *got, struct glinfer_error *err);
// Returns true if the current context, which reports resets, reports one.
bool gi_context_has_reset(void);
// Returns true if the context is one of OpenGL ES on the display, else false with NO_DEVICE.
bool gi_context_check_api(const struct gi_egl_display *display, EGLContext context,
                          struct glinfer_error *err);
