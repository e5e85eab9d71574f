// The persistent form of a session's decode steps: recorded a second time for groups of one size, made
// into one program each, and believed only after its tokens were compared with those of the ordinary
// tables.
#ifndef GI_ENGINE_SESSION_PERSISTENT_H
#define GI_ENGINE_SESSION_PERSISTENT_H

#include "engine/session.h"

// Records a step that ends in `end` and leaves the counts of grids alone: session.c.
bool gi_session_record_with(struct glinfer_session *session, struct gi_recorder recorder, int end,
                            struct glinfer_error *err);

// Sets session->persistent where the device wants it and can. Whatever stands in its way is logged and is
// no failure, but for a lost GPU. The session's tables are sealed.
bool gi_session_open_persistent(struct glinfer_session *session, struct glinfer_error *err);

// Gives it up after a fault: later chains are ordinary.
void gi_session_drop_persistent(struct glinfer_session *session);

#endif
