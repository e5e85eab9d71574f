// Where the groups of a session's persistent steps run (gpu/device/multiprocessor.h). The best places with few keys are not the
// best with many, so these have their own: 2,086 tokens/s at 2,048 keys for Qwen3-0.6B's shape on an H200 where those of an
// empty cache give 2,067; no difference for Llama-3.2-1B's. They are looked for when the program is taken by who waits for
// that (glinfer_session_prepare, GLINFER_DISPATCH), else in sessions that have decoded for long.
#ifndef GI_ENGINE_SESSION_PLACES_H
#define GI_ENGINE_SESSION_PLACES_H

#include "engine/run/persistent_check.h"

// Whether the persistent program of `end`, which is taken, should have its groups elsewhere behind n_past.
bool gi_session_wants_places(const struct glinfer_session *session, enum gi_step_end end,
                             uint32_t n_past);
// Puts them there, trying places out where that was not done yet: gi_persistent_check_places, as which it leaves what it
// writes, and fails.
bool gi_session_place(struct glinfer_session *session, const struct gi_persistent_check *check,
                      struct glinfer_error *err);

#endif
