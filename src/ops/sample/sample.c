#include "ops/sample/sample.h"

#include "ops/sample/sample_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// Widths of a work group that a kernel may have programs for; ids below are in this order, GI_PROGRAM_COUNT
// where there is none.
static const char *const width_names[] = {"64", "128", "256", "512", "1024"};
#define N_WIDTH (sizeof(width_names) / sizeof(width_names[0]))

static bool has_width(const struct gi_gpu *gpu, enum gi_program_id id)
{
    return id != GI_PROGRAM_COUNT && gi_program_available(gpu, id);
}

// As wide as is useful, because there is only one group to hide latency in. llvmpipe runs a group on
// one core, where width only costs, but ends all loops of a program after 65,535 turns together: there
// the width is no matter of speed alone, and nothing to tune.
static uint32_t class_width(const struct gi_gpu *gpu, const enum gi_program_id ids[N_WIDTH])
{
    const uint32_t most = gi_gpu_class(gpu)->sample.choice_size;
    uint32_t width = N_WIDTH - 1;
    while (width > 0 &&
           (strtoul(width_names[width], NULL, 10) > most || !has_width(gpu, ids[width]))) {
        width--;
    }
    return width;
}

static uint32_t note_site(const struct gi_recorder *recorder, const struct gi_tuning_key *key,
                          const enum gi_program_id ids[N_WIDTH], uint32_t width)
{
    struct gi_tuning_site *site;
    const uint32_t number = gi_tuning_note(recorder->sites, key, width_names[width], &site);
    for (uint32_t i = 0; site && i < N_WIDTH; i++) {
        if (has_width(recorder->gpu, ids[i])) {
            gi_tuning_offer(site, width_names[i]);
        }
    }
    return number;
}

// The width of this many invocations, else 128: what has neither is no stage of a persistent program.
static uint32_t find_width(const struct gi_gpu *gpu, const enum gi_program_id ids[N_WIDTH],
                           uint32_t size)
{
    uint32_t width = N_WIDTH - 1;
    while (width > 1 &&
           (strtoul(width_names[width], NULL, 10) != size || !has_width(gpu, ids[width]))) {
        width--;
    }
    return width;
}

static uint32_t choose_width(const struct gi_recorder *recorder, const char *label,
                             const enum gi_program_id ids[N_WIDTH], uint32_t n_vocab,
                             uint32_t *site)
{
    *site = 0;
    if (recorder->wg_size) {
        return find_width(recorder->gpu, ids, recorder->wg_size);
    }
    const struct gi_tuning_key key = {
        .kernel = label, .type = GI_TUNING_NO_TYPE, .n_rows = n_vocab};
    const bool is_fixed = gi_gpu_class(recorder->gpu)->sample.is_choice_fixed;
    const char *tuned = is_fixed ? NULL : gi_tuning_find(recorder->tuning, &key);
    uint32_t width = class_width(recorder->gpu, ids);
    for (uint32_t i = 0; tuned && i < N_WIDTH; i++) {
        if (strcmp(tuned, width_names[i]) == 0 && has_width(recorder->gpu, ids[i])) {
            width = i;
        }
    }
    *site = recorder->sites && !is_fixed ? note_site(recorder, &key, ids, width) : 0;
    return width;
}

struct gi_sample_params gi_sample_fill_params(const struct gi_logits *logits)
{
    assert(logits->n_partial > 0 && logits->n_partial <= logits->max_partial);
    assert(logits->partial % 4 == 0 && logits->partial >= logits->n_vocab);
    return (struct gi_sample_params){
        .n_vocab = logits->n_vocab,
        .n_partial = logits->n_partial,
        .partial = logits->partial,
        .block_rows = logits->block_rows,
        .row_step = logits->row_step,
        .part_rows = logits->part_rows,
        .scan = logits->scan,
        .n_scan = logits->n_scan,
        .choice_at = logits->block_rows > 0 ? logits->choice : 0,
    };
}

static bool record_choice(struct gi_recorder *recorder, const char *label,
                          const enum gi_program_id ids[N_WIDTH], const struct gi_logits *logits,
                          const struct gi_step_buffers *step, struct glinfer_error *err)
{
    const bool has_counts = step->counts.buffer != NULL;
    uint32_t site;
    const uint32_t width = choose_width(recorder, label, ids, logits->n_vocab, &site);
    const struct gi_program_key key = {
        .id = ids[width],
        .quant = GI_QUANT_NONE,
        .n_defines = 1,
        .defines = {{"HAS_COUNTS", has_counts}},
    };
    const struct gi_sample_params params = gi_sample_fill_params(logits);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {step->ring,    logits->range, step->state, step->counts},
        .writes = has_counts ? 0xDu : 0x5u,
        .wg_size = (uint32_t)strtoul(width_names[width], NULL, 10),
        .writes_state = true,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED             },
        .site = site,
    };
    return gi_recorder_add(recorder, &key, &dispatch, err);
}

bool gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err)
{
    static const enum gi_program_id ids[N_WIDTH] = {GI_PROGRAM_COUNT, GI_PROGRAM_ARGMAX,
                                                    GI_PROGRAM_ARGMAX_256, GI_PROGRAM_ARGMAX_512,
                                                    GI_PROGRAM_ARGMAX_1024};
    return record_choice(recorder, "argmax", ids, logits, step, err);
}

struct gi_range gi_logits_range(const struct gi_logits *logits, uint32_t begin, uint32_t n)
{
    const uint64_t offset = (uint64_t)begin * sizeof(uint32_t);
    return (struct gi_range){logits->range.buffer, logits->range.offset + offset,
                             n * sizeof(uint32_t)};
}

static bool record_few(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step, struct glinfer_error *err)
{
    static const enum gi_program_id ids[N_WIDTH] = {
        GI_PROGRAM_SAMPLE_FEW_64, GI_PROGRAM_SAMPLE_FEW, GI_PROGRAM_SAMPLE_FEW_256,
        GI_PROGRAM_SAMPLE_FEW_512, GI_PROGRAM_SAMPLE_FEW_1024};
    uint32_t site;
    const uint32_t width = choose_width(recorder, "sample_few", ids, logits->n_vocab, &site);
    const struct gi_program_key key = {.id = ids[width], .quant = GI_QUANT_NONE};
    const struct gi_sample_params params = gi_sample_fill_params(logits);
    struct gi_dispatch dispatch = {
        .label = "sample_few",
        .writes = 0x9,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED},
        .site = site,
    };
    dispatch.bindings[0] = step->ring;
    dispatch.bindings[1] = gi_logits_range(logits, 0, logits->choice);
    dispatch.bindings[2] = step->state;
    dispatch.bindings[3] = gi_logits_range(logits, logits->choice, 4);
    return gi_recorder_add(recorder, &key, &dispatch, err);
}

bool gi_op_sample(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step, struct glinfer_error *err)
{
    static const enum gi_program_id ids[N_WIDTH] = {GI_PROGRAM_SAMPLE_64, GI_PROGRAM_SAMPLE,
                                                    GI_PROGRAM_SAMPLE_256, GI_PROGRAM_SAMPLE_512,
                                                    GI_PROGRAM_SAMPLE_1024};
    return (logits->block_rows == 0 || record_few(recorder, logits, step, err)) &&
           record_choice(recorder, "sample", ids, logits, step, err);
}

// Each finds the largest of the partial results anew, and the fewer cores there are, the fewer groups are needed to
// have them all busy.
static uint32_t count_scans(const struct gi_gpu *gpu, uint32_t n_vocab)
{
    const uint32_t most = gi_gpu_class(gpu)->sample.n_groups;
    const uint32_t n = (n_vocab + 255) / 256;
    assert(most <= GI_MAX_SCANS);
    return n < most ? n : most;
}

bool gi_op_sample_scan(struct gi_recorder *recorder, struct gi_logits *logits,
                       struct glinfer_error *err)
{
    const bool is_wide = gi_gpu_class(recorder->gpu)->sample.size >= 256 &&
                         gi_program_available(recorder->gpu, GI_PROGRAM_SAMPLE_SCAN_256);
    const struct gi_program_key key = {
        .id = is_wide ? GI_PROGRAM_SAMPLE_SCAN_256 : GI_PROGRAM_SAMPLE_SCAN,
        .quant = GI_QUANT_NONE,
    };
    const struct gi_sample_params params = gi_sample_fill_params(logits);
    logits->n_scan = count_scans(recorder->gpu, logits->n_vocab);
    struct gi_dispatch dispatch = {
        .label = "sample_scan",
        .writes = 0x1,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {logits->n_scan, 1, 1}, .rule = GI_GRID_FIXED},
    };
    dispatch.bindings[0] = gi_logits_range(logits, logits->scan, 4 * logits->n_scan);
    dispatch.bindings[1] = gi_logits_range(logits, 0, logits->scan);
    return gi_recorder_add(recorder, &key, &dispatch, err);
}
