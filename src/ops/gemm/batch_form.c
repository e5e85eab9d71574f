#include "ops/gemm/batch_form.h"

#include "gpu/device/settings.h"
#include "gpu/program/program_table.h"

// Returns true if the device has the program and the registers for a form.
static bool has_form(const struct gi_gpu *gpu, enum gi_batch_form form)
{
    static const enum gi_program_id programs[] = {
        [GI_BATCH_FORM_SPLIT] = GI_PROGRAM_GEMM,
        [GI_BATCH_FORM_LANE] = GI_PROGRAM_GEMM_LANE,
        [GI_BATCH_FORM_ROW] = GI_PROGRAM_GEMM_ROW,
    };
    return gi_program_available(gpu, programs[form]) &&
           (form != GI_BATCH_FORM_SPLIT || !gi_gpu_class(gpu)->is_short_of_registers);
}

// Returns true if GLINFER_BATCH names a form that the device has.
static bool is_form_asked(const struct gi_gpu *gpu)
{
    const struct gi_settings *settings = gi_gpu_settings(gpu);
    return settings->batch.is_set && has_form(gpu, settings->batch.form);
}

enum gi_batch_form gi_batch_form(const struct gi_gpu *gpu)
{
    return is_form_asked(gpu) ? gi_gpu_settings(gpu)->batch.form : gi_gpu_batch_form(gpu);
}

bool gi_batch_has_tiles(const struct gi_gpu *gpu)
{
    const enum gi_batch_form form = gi_batch_form(gpu);
    return form == GI_BATCH_FORM_SPLIT || (form == GI_BATCH_FORM_LANE && !is_form_asked(gpu) &&
                                           gi_gpu_class(gpu)->gemm_tile != GI_GEMM_TILE_WHOLE);
}

bool gi_batch_is_open(const struct gi_gpu *gpu)
{
    return gi_gpu_class(gpu)->is_batch_open && !is_form_asked(gpu) &&
           has_form(gpu, GI_BATCH_FORM_SPLIT);
}

uint32_t gi_batch_small_tokens(const struct gi_gpu *gpu)
{
    switch (gi_batch_form(gpu)) {
    case GI_BATCH_FORM_SPLIT:
        return 32;
    case GI_BATCH_FORM_LANE:
        return gi_batch_has_tiles(gpu) ? 16 : 8; // half of glsl/gemm/gemm_lane.comp's tokens
    default:
        return 4;
    }
}

uint32_t gi_batch_most_tokens(const struct gi_gpu *gpu, uint32_t size)
{
    static const uint32_t most[GI_BATCH_SIZES] = {0, GI_SHORT_BATCH, 1024};
    enum { LARGE_GROUPS = 64 }; // that run at once: short batches leave some without work
    const bool is_large = gi_batch_form(gpu) == GI_BATCH_FORM_SPLIT &&
                          gi_program_available(gpu, GI_PROGRAM_GEMM_HALF) &&
                          gi_gpu_class(gpu)->wave_groups >= LARGE_GROUPS;
    return size == 0 ? gi_batch_small_tokens(gpu) : is_large ? most[size] : 0;
}
