// The buffers and the table that glinfer_score needs, made when it is called first.
#ifndef GI_ENGINE_SCORE_H
#define GI_ENGINE_SCORE_H

#include "engine/run/session.h"

// Accepts NULL.
void gi_scorer_destroy(struct gi_scorer *scorer, struct gi_gpu *gpu);

#endif
