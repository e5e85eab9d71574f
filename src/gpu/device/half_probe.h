// Finds out what mediump is on a device: fills has_fast_half, keeps_half_denormals and
// flushes_half_denormals of its limits. One small dispatch; where mediump is f16, some ms more to
// time it against highp. GLINFER_HALF=yes takes mediump for fast halves wherever it is, for tests
// of what is built on it; =no does not look.
#pragma once

#include "gpu/program/program_table.h"

// Builds its programs in the table; they stay there, unused. The answer is "no" for a device that
// GLINFER_LIMITS=es31 holds to the floor or a quirk forbids, unless GLINFER_HALF says otherwise,
// and for one whose driver refuses the probe. Fails with GPU_LOST, NO_MEMORY.
bool gi_half_probe(struct gi_gpu *gpu, struct gi_program_table *programs,
                   struct glinfer_error *err);
