// The buffers and the list of glinfer_score, created by its first call and owned by the session.
#pragma once

#include "engine/session/session.h"

// Creates session->scorer if it does not exist, and tests its programs. Fails with OVER_BUDGET,
// NO_MEMORY, UNSUPPORTED, DRIVER, GPU_LOST.
bool gi_scorer_open(struct glinfer_session *session, struct glinfer_error *err);
// Destroys the session's scorer, if it has one.
void gi_scorer_close(struct glinfer_session *session);
