#include "ops/sample/sample_many.h"

#include "ops/record/params.h"
#include "ops/sample/sample_private.h"

// What the stages leave, in uints behind logits->many (glsl/sample/many.glsl).
enum {
    LARGEST = GI_SAMPLE_SUMS_SIZE,
    CUTS = LARGEST + 64,
    LIST = CUTS + 64,
};

// Work groups that a stage has programs for.
static const uint32_t widths[] = {64, 128, 256, 1024};
#define N_WIDTH (sizeof(widths) / sizeof(widths[0]))

struct stage {
    const char *label;
    enum gi_program_id ids[N_WIDTH];
    uint32_t width, n_groups;
    struct gi_range to; // what it writes, unless it ends the step
};

struct many {
    struct gi_recorder *recorder;
    const struct gi_logits *logits;
    const struct gi_step_buffers *step;
    struct gi_sample_params params;
    struct glinfer_error *err;
};

// The program of the width that is wanted, or of the next smaller one.
static enum gi_program_id choose_program(const struct gi_gpu *gpu, const struct stage *stage)
{
    size_t i = N_WIDTH - 1;
    while (i > 0 && (widths[i] > stage->width || !gi_program_available(gpu, stage->ids[i]))) {
        i--;
    }
    return stage->ids[i];
}

static bool record_stage(const struct many *many, const struct stage *stage, uint32_t n_read)
{
    const struct gi_program_key key = {.id = choose_program(many->recorder->gpu, stage),
                                       .quant = GI_QUANT_NONE};
    struct gi_dispatch dispatch = {
        .label = stage->label,
        .writes = 0x1,
        .params = &many->params,
        .params_size = sizeof(many->params),
        .grid = {.size = {stage->n_groups, 1, 1}, .rule = GI_GRID_FIXED},
    };
    dispatch.bindings[0] = stage->to;
    dispatch.bindings[1] = gi_logits_range(many->logits, 0, n_read);
    return gi_recorder_add(many->recorder, &key, &dispatch, many->err);
}

static bool record_end(const struct many *many, const struct stage *stage)
{
    const struct gi_step_buffers *step = many->step;
    const bool has_counts = step->counts.buffer != NULL;
    const struct gi_program_key key = {.id = choose_program(many->recorder->gpu, stage),
                                       .quant = GI_QUANT_NONE,
                                       .n_defines = 1,
                                       .defines = {{"HAS_COUNTS", has_counts}}};
    struct gi_dispatch dispatch = {
        .label = stage->label,
        .bindings = {step->ring,    many->logits->range, step->state, step->counts},
        .writes = has_counts ? 0xFu : 0x7u,
        .writes_state = true,
        .params = &many->params,
        .params_size = sizeof(many->params),
        .grid = {.size = {stage->n_groups, 1, 1}, .rule = GI_GRID_FIXED                   },
    };
    return gi_recorder_add(many->recorder, &key, &dispatch, many->err);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Each group looks at the partial results anew: no more of them than there are cores for.
void gi_sample_choose_shape(const struct gi_gpu *gpu, uint32_t *width, uint32_t *n_groups)
{
    *width = gi_gpu_class(gpu)->sample.size;
    *n_groups = gi_gpu_class(gpu)->sample.n_groups;
}

bool gi_op_sample_many(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step, struct glinfer_error *err)
{
    uint32_t width, n_groups;
    gi_sample_choose_shape(recorder->gpu, &width, &n_groups);
    n_groups = smaller(n_groups, (logits->n_vocab + width - 1) / width);
    struct many many = {.recorder = recorder,
                        .logits = logits,
                        .step = step,
                        .params = gi_sample_fill_params(logits),
                        .err = err};
    many.params.many_at = logits->many;
    many.params.n_many = n_groups;
    const struct stage bins = {
        "sample_bins",
        {GI_PROGRAM_SAMPLE_BINS_64, GI_PROGRAM_SAMPLE_BINS_128, GI_PROGRAM_SAMPLE_BINS_256,
          GI_PROGRAM_SAMPLE_BINS_1024},
        width,
        n_groups,
        gi_logits_range(logits, logits->many, LIST)
    };
    const struct stage draw = {
        "sample_draw",
        {GI_PROGRAM_SAMPLE_DRAW_64, GI_PROGRAM_SAMPLE_DRAW_128, GI_PROGRAM_SAMPLE_DRAW_256,
          GI_PROGRAM_SAMPLE_DRAW_1024},
        width,
        n_groups,
        gi_logits_range(logits, logits->many + CUTS, GI_SAMPLE_MANY_SIZE - CUTS)
    };
    const struct stage end = {
        "sample_many",
        {GI_PROGRAM_SAMPLE_MANY_64,   GI_PROGRAM_SAMPLE_MANY_128, GI_PROGRAM_SAMPLE_MANY_256,
          GI_PROGRAM_SAMPLE_MANY_1024},
        gi_gpu_class(recorder->gpu)->sample.end_size,
        1,
        {0}
    };
    return record_stage(&many, &bins, logits->many) &&
           record_stage(&many, &draw, logits->many + CUTS) && record_end(&many, &end);
}
