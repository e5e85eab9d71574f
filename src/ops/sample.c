#include "ops/sample.h"

#include "ops/params.h"

#include <assert.h>

// Programs of one kernel by the width of their work group.
struct widths {
    enum gi_program_id wg64, wg128, wg256, wg1024;
};

// As wide as is useful, because there is only one group to hide latency in. llvmpipe runs a group on
// one core, where width only costs, but ends all loops of a program after 65,535 turns together.
static enum gi_program_id choose_width(const struct gi_gpu *gpu, const struct widths *widths)
{
    if (gi_gpu_class(gpu) == GI_GPU_CLASS_SPLIT && gi_program_available(gpu, widths->wg1024)) {
        return widths->wg1024;
    }
    if (gi_program_available(gpu, widths->wg256)) {
        return widths->wg256;
    }
    return gi_program_available(gpu, widths->wg128) ? widths->wg128 : widths->wg64;
}

static bool record_choice(struct gi_recorder *recorder, const char *label,
                          const struct widths *widths, const struct gi_logits *logits,
                          const struct gi_step_buffers *step, struct glinfer_error *err)
{
    assert(logits->n_partial > 0 && logits->n_partial <= logits->max_partial);
    assert(logits->partial % 4 == 0 && logits->partial >= logits->n_vocab);
    const bool has_counts = step->counts.buffer != NULL;
    const struct gi_program_key key = {
        .id = choose_width(recorder->gpu, widths),
        .quant = GI_QUANT_NONE,
        .n_defines = 1,
        .defines = {{"HAS_COUNTS", has_counts}},
    };
    const struct gi_sample_params params = {
        .n_vocab = logits->n_vocab,
        .n_partial = logits->n_partial,
        .partial = logits->partial,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {step->ring,    logits->range, step->state, step->counts},
        .writes = has_counts ? 0xDu : 0x5u,
        .writes_state = true,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED             },
    };
    return gi_program_table_request(recorder->programs, &key, &dispatch.program, err) &&
           gi_dispatch_table_record(recorder->table, &dispatch, err);
}

bool gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err)
{
    static const struct widths widths = {GI_PROGRAM_ARGMAX, GI_PROGRAM_ARGMAX,
                                         GI_PROGRAM_ARGMAX_256, GI_PROGRAM_ARGMAX_1024};
    return record_choice(recorder, "argmax", &widths, logits, step, err);
}

bool gi_op_sample(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err)
{
    static const struct widths widths = {GI_PROGRAM_SAMPLE_64, GI_PROGRAM_SAMPLE,
                                         GI_PROGRAM_SAMPLE_256, GI_PROGRAM_SAMPLE_1024};
    return record_choice(recorder, "sample", &widths, logits, step, err);
}
