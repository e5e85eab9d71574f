#include "ops/sample/sample_top.h"

#include "ops/record/params.h"
#include "ops/sample/sample_private.h"

// Work groups that there are programs for.
static const struct {
    uint32_t width;
    enum gi_program_id id;
} programs[] = {
    {GI_SAMPLE_TOP_GROUP, GI_PROGRAM_SAMPLE_TOP     },
    {256,                 GI_PROGRAM_SAMPLE_TOP_256 },
    {512,                 GI_PROGRAM_SAMPLE_TOP_512 },
    {1024,                GI_PROGRAM_SAMPLE_TOP_1024},
};

bool gi_sample_top_is_possible(const struct gi_gpu *gpu, uint32_t n_vocab)
{
    return n_vocab < 1u << 20 && gi_program_available(gpu, GI_PROGRAM_SAMPLE_TOP);
}

// That of the width which is wanted, or the next smaller one.
static size_t choose_program(const struct gi_gpu *gpu, uint32_t width)
{
    size_t i = sizeof(programs) / sizeof(programs[0]) - 1;
    while (i > 0 && (programs[i].width > width || !gi_program_available(gpu, programs[i].id))) {
        i--;
    }
    return i;
}

// An invocation looks at one logit or more.
static void choose_shape(const struct gi_recorder *recorder, uint32_t n_vocab, size_t *program,
                         uint32_t *n_groups)
{
    uint32_t width;
    gi_sample_choose_shape(recorder->gpu, &width, n_groups);
    width = width < 256 ? 256 : width;
    if (recorder->wg_size) {
        width = recorder->wg_size;
        *n_groups = recorder->n_wg;
    }
    *program = choose_program(recorder->gpu, width);
    const uint32_t useful = (n_vocab + programs[*program].width - 1) / programs[*program].width;
    *n_groups = useful < *n_groups ? useful : *n_groups;
}

bool gi_op_sample_top(struct gi_recorder *recorder, const struct gi_logits *logits,
                      const struct gi_step_buffers *step, struct glinfer_error *err)
{
    const bool has_counts = step->counts.buffer != NULL;
    size_t program;
    uint32_t n_groups;
    choose_shape(recorder, logits->n_vocab, &program, &n_groups);
    struct gi_sample_params params = gi_sample_fill_params(logits);
    params.many_at = logits->top;
    const struct gi_program_key key = {.id = programs[program].id,
                                       .quant = GI_QUANT_NONE,
                                       .n_defines = 1,
                                       .defines = {{"HAS_COUNTS", has_counts}}};
    struct gi_dispatch dispatch = {
        .label = "sample_top",
        .bindings = {step->ring,    logits->range, step->state, step->counts},
        .writes = has_counts ? 0xFu : 0x7u,
        .writes_state = true,
        .wg_size = programs[program].width,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {n_groups, 1, 1}, .rule = GI_GRID_FIXED             },
    };
    return gi_recorder_add(recorder, &key, &dispatch, err);
}
