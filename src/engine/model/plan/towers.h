// Models that are several towers: which files have them, and how they are loaded.
#ifndef GI_ENGINE_TOWERS_H
#define GI_ENGINE_TOWERS_H

#include "engine/model/plan/model_plan.h"

enum gi_tower_role {
    GI_TOWER_DECODER,
    GI_TOWER_ENCODER,
    GI_TOWER_COUNT,
};

extern const struct gi_tower gi_whisper_towers[GI_TOWER_COUNT];

// Returns the towers of a speech model, by role; NULL for other files.
const struct gi_tower *gi_towers_find(const struct gi_gguf *gguf);

#endif
