#include "ops/record/rate.h"

#include "glsl/measure/measure_params.h"

#include <assert.h>

enum { WORD = 16, FMA_WG_SIZE = 64 };

static void record(struct gi_recorder *recorder, enum gi_program_id id, struct gi_range x,
                   struct gi_dispatch *dispatch)
{
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    const struct gi_program_key key =
        GI_KEY(id, {"WG_SIZE", class->copy_wg_size}, {"LOADS", class->copy_loads});
    assert(x.size > 0 && x.size % GI_RATE_UNIT == 0);
    dispatch->grid.size[0] =
        (uint32_t)(x.size / ((uint64_t)WORD * class->copy_wg_size * class->copy_loads));
    dispatch->grid.size[1] = 1;
    dispatch->grid.size[2] = 1;
    gi_recorder_add(recorder, &key, dispatch);
}

void gi_op_rate_copy(struct gi_recorder *recorder, struct gi_range y, struct gi_range x)
{
    assert(y.size == x.size);
    struct gi_dispatch dispatch = {.label = "rate_copy", .bindings = {y, x}};
    record(recorder, GI_PROGRAM_RATE_COPY, x, &dispatch);
}

uint64_t gi_rate_parity_size(const struct gi_gpu *gpu, uint64_t x_size)
{
    return x_size / gi_gpu_class(gpu)->copy_loads;
}

void gi_op_rate_read(struct gi_recorder *recorder, struct gi_range y, struct gi_range x,
                     bool through_texels)
{
    assert(y.size >= gi_rate_parity_size(recorder->gpu, x.size));
    struct gi_dispatch dispatch = {
        .label = "rate_read",
        .bindings = {y, x},
        .texels = {GI_TEXEL_NONE, through_texels ? GI_TEXEL_UVEC4 : GI_TEXEL_NONE},
    };
    record(recorder, through_texels ? GI_PROGRAM_RATE_READ_TEXEL : GI_PROGRAM_RATE_READ, x,
           &dispatch);
}

void gi_op_rate_fma(struct gi_recorder *recorder, struct gi_range y, uint32_t n_round, float factor,
                    float addend)
{
    const struct gi_program_key key = GI_KEY(GI_PROGRAM_RATE_FMA, {"WG_SIZE", FMA_WG_SIZE});
    const struct gi_rate_fma_params params = {
        .n_round = n_round, .factor = factor, .addend = addend};
    struct gi_dispatch dispatch = {
        .label = "rate_fma",
        .bindings = {y},
        GI_PARAMS_OF(params),
        .grid = {.size = {(uint32_t)(y.size / sizeof(float) / FMA_WG_SIZE), 1, 1}},
    };
    assert(y.size % (sizeof(float) * FMA_WG_SIZE) == 0);
    gi_recorder_add(recorder, &key, &dispatch);
}
