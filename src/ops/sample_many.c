#include "ops/sample_many.h"

#include "ops/params.h"
#include "ops/sample_private.h"

#include <assert.h>

// Where the stages leave what they find, in their order: a stage reads no more than what lies before that.
enum {
    BINS,
    FINER = BINS + GI_SAMPLE_BINS_SIZE,
    LIST = FINER + GI_SAMPLE_BINS_SIZE,
    SECOND_FINER = LIST + GI_SAMPLE_LIST_SIZE,
    SECOND_LIST = SECOND_FINER + GI_SAMPLE_BINS_SIZE,
};

enum { N_WIDTH = 3 };

struct many {
    struct gi_recorder *recorder;
    const struct gi_logits *logits;
    uint32_t n_groups;
    struct gi_sample_params params;
    struct glinfer_error *err;
};

static enum gi_program_id choose_width(const struct gi_gpu *gpu,
                                       const enum gi_program_id ids[N_WIDTH])
{
    uint32_t width = gi_gpu_class(gpu) == GI_GPU_CLASS_SPLIT ? N_WIDTH - 1 : 0;
    while (width > 0 && !gi_program_available(gpu, ids[width])) {
        width--;
    }
    return ids[width];
}

// Each reads what all left.
static uint32_t count_groups(const struct gi_gpu *gpu)
{
    const enum gi_gpu_class class = gi_gpu_class(gpu);
    return class == GI_GPU_CLASS_SPLIT ? GI_MAX_SAMPLE_GROUPS : class == GI_GPU_CLASS_ROW ? 16 : 4;
}

static struct gi_range range_at(const struct many *many, uint32_t at, uint32_t n)
{
    return gi_logits_range(many->logits, many->logits->many + at, n);
}

// A stage of many groups, which writes n uints at `to`.
static bool record_stage(const struct many *many, const char *label,
                         const enum gi_program_id ids[N_WIDTH], uint32_t to, uint32_t n)
{
    const struct gi_program_key key = {.id = choose_width(many->recorder->gpu, ids),
                                       .quant = GI_QUANT_NONE};
    struct gi_dispatch dispatch = {
        .label = label,
        .writes = 0x1,
        .params = &many->params,
        .params_size = sizeof(many->params),
        .grid = {.size = {many->n_groups, 1, 1}, .rule = GI_GRID_FIXED},
    };
    dispatch.bindings[0] = range_at(many, to, n);
    dispatch.bindings[1] = gi_logits_range(many->logits, 0, many->logits->many + to);
    if (to == BINS) {
        dispatch.bindings[2] = range_at(many, LIST, GI_SAMPLE_LIST_SIZE);
        dispatch.bindings[3] = range_at(many, SECOND_LIST, GI_SAMPLE_LIST_SIZE);
        dispatch.writes = 0xD;
    }
    return gi_program_table_request(many->recorder->programs, &key, &dispatch.program, many->err) &&
           gi_dispatch_table_record(many->recorder->table, &dispatch, many->err);
}

static bool record_bins(const struct many *many)
{
    static const enum gi_program_id ids[N_WIDTH] = {
        GI_PROGRAM_SAMPLE_BINS_64, GI_PROGRAM_SAMPLE_BINS_256, GI_PROGRAM_SAMPLE_BINS_1024};
    return record_stage(many, "sample_bins", ids, BINS, GI_SAMPLE_BINS_SIZE);
}

// The stages of a cut, which is looked for among all or behind the cut that left a list at list_at.
static bool record_cut(struct many *many, uint32_t finer, uint32_t list)
{
    static const enum gi_program_id narrow[N_WIDTH] = {
        GI_PROGRAM_SAMPLE_NARROW_64, GI_PROGRAM_SAMPLE_NARROW_256, GI_PROGRAM_SAMPLE_NARROW_1024};
    static const enum gi_program_id cut[N_WIDTH] = {
        GI_PROGRAM_SAMPLE_CUT_64, GI_PROGRAM_SAMPLE_CUT_256, GI_PROGRAM_SAMPLE_CUT_1024};
    many->params.from_at = many->logits->many + finer;
    const bool ok = record_stage(many, "sample_narrow", narrow, finer, GI_SAMPLE_BINS_SIZE) &&
                    record_stage(many, "sample_cut", cut, list, GI_SAMPLE_LIST_SIZE);
    many->params.list_at = many->logits->many + list;
    return ok;
}

static bool record_end(const struct many *many, const struct gi_step_buffers *step)
{
    static const enum gi_program_id ids[N_WIDTH] = {
        GI_PROGRAM_SAMPLE_MANY_64, GI_PROGRAM_SAMPLE_MANY_256, GI_PROGRAM_SAMPLE_MANY_1024};
    const bool has_counts = step->counts.buffer != NULL;
    const struct gi_program_key key = {.id = choose_width(many->recorder->gpu, ids),
                                       .quant = GI_QUANT_NONE,
                                       .n_defines = 1,
                                       .defines = {{"HAS_COUNTS", has_counts}}};
    struct gi_dispatch dispatch = {
        .label = "sample_many",
        .bindings = {step->ring,    many->logits->range, step->state, step->counts},
        .writes = has_counts ? 0xDu : 0x5u,
        .writes_state = true,
        .params = &many->params,
        .params_size = sizeof(many->params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED                   },
    };
    return gi_program_table_request(many->recorder->programs, &key, &dispatch.program, many->err) &&
           gi_dispatch_table_record(many->recorder->table, &dispatch, many->err);
}

bool gi_op_sample_many(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_sample_cuts *cuts, const struct gi_step_buffers *step,
                       struct glinfer_error *err)
{
    assert(cuts->by_number || cuts->by_mass);
    struct many many = {.recorder = recorder,
                        .logits = logits,
                        .n_groups = count_groups(recorder->gpu),
                        .params = gi_sample_fill_params(logits),
                        .err = err};
    many.params.bins_at = logits->many + BINS;
    many.params.n_many = many.n_groups;
    many.params.by_mass = !cuts->by_number;
    if (!record_bins(&many) || !record_cut(&many, FINER, LIST)) {
        return false;
    }
    if (cuts->by_number && cuts->by_mass) {
        many.params.by_mass = true;
        if (!record_cut(&many, SECOND_FINER, SECOND_LIST)) {
            return false;
        }
    }
    return record_end(&many, step);
}
