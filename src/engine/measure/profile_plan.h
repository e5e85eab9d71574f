// Plans a prompt or decode steps in place of measuring them: part of glinfer_profile.
#pragma once

#include "engine/session/session.h"

// Calls params->on_planned for every dispatch and submission. Compiles and submits nothing; records
// missing lists. Fails as ops do.
bool gi_profile_plan(struct glinfer_session *session, const struct glinfer_profile_params *params,
                     struct glinfer_error *err);
