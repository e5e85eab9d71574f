#include "gpu/program/quarantine.h"

#include "gpu/device/gpu_private.h"

#include <stdio.h>

void gi_quarantine_add(struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant,
                       const char *reason)
{
    if (gpu->n_quarantined < GI_MAX_QUARANTINED && !gi_quarantine_find(gpu, id, quant)) {
        struct gi_quarantined *entry = &gpu->quarantined[gpu->n_quarantined++];
        *entry = (struct gi_quarantined){.program = id, .quant = quant};
        snprintf(entry->reason, sizeof(entry->reason), "%s", reason);
    }
}

// With a full list, every program is treated as blocked: this driver cannot be trusted.
static bool is_full(const struct gi_gpu *gpu)
{
    return gpu->n_quarantined == GI_MAX_QUARANTINED;
}

const char *gi_quarantine_find(const struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant)
{
    if (is_full(gpu)) {
        return gpu->quarantined[0].reason;
    }
    for (uint32_t i = 0; i < gpu->n_quarantined; i++) {
        const struct gi_quarantined *entry = &gpu->quarantined[i];
        if (entry->program == (uint32_t)id && entry->quant == quant) {
            return entry->reason;
        }
    }
    return NULL;
}

void gi_quarantine_clear(struct gi_gpu *gpu)
{
    gpu->n_quarantined = 0;
}

bool gi_quarantine_has_any(const struct gi_gpu *gpu)
{
    return gpu->n_quarantined > 0;
}

bool gi_program_available_for(const struct gi_gpu *gpu, enum gi_program_id id, uint32_t quant)
{
    return gi_program_is_possible(gpu, id) && !gi_quarantine_find(gpu, id, quant);
}

bool gi_program_available(const struct gi_gpu *gpu, enum gi_program_id id)
{
    for (uint32_t i = 0; i < gpu->n_quarantined; i++) {
        if (gpu->quarantined[i].program == (uint32_t)id || is_full(gpu)) {
            return false;
        }
    }
    return gi_program_is_possible(gpu, id);
}
