// The time of each dispatch of a prompt or of decode steps.
#pragma once

#include "engine/session/session.h"

// Measures, or only plans, and sets *stats as glinfer_profile does. The session is entered.
bool gi_profile(struct glinfer_session *session, const struct glinfer_profile_params *params,
                struct glinfer_profile_stats *stats, struct glinfer_error *err);
