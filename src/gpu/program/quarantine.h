// Programs that a device must not use: they compute wrong results there, or its driver does not
// compile them. Ops choose another one (gi_program_available), or fail with the reason when they
// request it. Held by the gpu, for as long as it is open.
#pragma once

#include "gpu/program/program_table.h"

// Adds a program for weights of one type (GI_QUANT_NONE: it reads none). reason is a sentence,
// which is copied as far as there is room.
void gi_quarantine_add(struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant,
                       const char *reason);
// Returns the reason, NULL if the program is not in quarantine. Once that is full all are.
const char *gi_quarantine_find(const struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant);
// Lets all programs out, for lists of another form that are tested anew; those that were found to
// be wrong come back when they are asked for.
void gi_quarantine_clear(struct gi_gpu *gpu);
// Returns true if any program is in quarantine.
bool gi_quarantine_has_any(const struct gi_gpu *gpu);
// Returns true if the device has the program's capabilities and may use it for weights of this
// type.
bool gi_program_available_for(const struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant);
