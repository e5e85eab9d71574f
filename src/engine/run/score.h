// The buffers and the table that glinfer_score needs, made when it is called first.
#ifndef GI_ENGINE_SCORE_H
#define GI_ENGINE_SCORE_H

#include "engine/run/session.h"

// Makes what scoring needs, if it is not there, and tests its programs as those of answers are.
// Fails with OVER_BUDGET, NO_MEMORY, UNSUPPORTED, DRIVER, GPU_LOST.
bool gi_scorer_open(struct glinfer_session *session, struct glinfer_error *err);
// Accepts NULL.
void gi_scorer_destroy(struct gi_scorer *scorer, struct gi_gpu *gpu);

#endif
