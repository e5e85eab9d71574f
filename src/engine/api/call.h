// The frame of the calls of glinfer.h, and the end of objects that a callback destroyed meanwhile.
#pragma once

#include "engine/session/session.h"

// Begins a call that measures a session of any model (gi_session_enter). Failure ends the call and
// may free the session.
bool gi_call_begin_any(struct glinfer_session *session, struct gi_platform_saved *saved,
                       struct glinfer_error *err);
// Begins a call that uses a session's GPU for text. Fails as gi_call_begin_any, and with
// UNSUPPORTED for a speech model.
bool gi_call_begin(struct glinfer_session *session, struct gi_platform_saved *saved,
                   struct glinfer_error *err);
// Leaves the session's GPU and ends the call.
void gi_call_leave(struct glinfer_session *session, const struct gi_platform_saved *saved);
// Ends the answers and destroys the sessions, models and devices that were ended or destroyed
// during the call. The last action of a call. Does nothing inside a callback.
void gi_call_end(struct glinfer_device *device);

// Ends the answer of glinfer_begin, if there is one, as a broken one.
void gi_session_end_answer(struct glinfer_session *session);

// Creates a device as glinfer_device_create does, from whole params, with a copy of `settings`
// instead of the environment's.
struct glinfer_device *gi_device_create(const struct glinfer_device_params *params,
                                        const struct gi_settings *settings,
                                        struct glinfer_error *err);
