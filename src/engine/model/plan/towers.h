// Models that are several towers: which files have them, and how they are loaded.
#pragma once

#include "engine/model/plan/model_plan.h"

enum gi_tower_role {
    GI_TOWER_DECODER,
    GI_TOWER_ENCODER,
    GI_TOWER_COUNT,
};

extern const struct gi_tower gi_whisper_towers[GI_TOWER_COUNT];

// Returns the towers of a speech model, by role; NULL for other files.
const struct gi_tower *gi_towers_find(const struct gi_gguf *gguf);
// Returns the type of keys and values of a tower whose first projection is `weight`: f32 for
// weights of f32, since keys of f16 dominate the rounding of such a model, and otherwise f16, which
// halves the bytes of keys and values that a step reads.
enum glinfer_cache_type gi_tower_cache(const struct gi_weight *weight);
