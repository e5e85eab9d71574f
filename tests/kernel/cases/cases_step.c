#include "tests/kernel/cases/cases_step.h"

#include "gpu/device/fence.h"
#include "gpu/dispatch/dispatch_replay.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Largest value and lowest index of every step-th of logits[begin, end), as gemv_vocab writes them.
static void reduce_rows(const float *logits, uint32_t begin, uint32_t end, uint32_t step,
                        uint32_t partial[2])
{
    float best = -FLT_MAX;
    uint32_t index = UINT32_MAX - 1; // of none
    bool is_finite = true;
    for (uint32_t i = begin; i < end; i += step) {
        is_finite = is_finite && isfinite(logits[i]);
        if (logits[i] > best || index >= end) {
            best = logits[i];
            index = i;
        }
    }
    partial[0] = float_bits(is_finite ? best : INFINITY);
    partial[1] = is_finite ? index : UINT32_MAX;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Returns how many there are; partials may be NULL.
static uint32_t reduce_all(const float *logits, uint32_t n_vocab,
                           const struct kt_partial_rows *rows, uint32_t (*partials)[2])
{
    uint32_t n = 0;
    const uint32_t part_rows = rows->part_rows ? rows->part_rows : n_vocab;
    for (uint32_t part = 0; part < n_vocab; part += part_rows) {
        const uint32_t part_end = smaller(n_vocab, part + part_rows);
        for (uint32_t block = part; block < part_end; block += rows->block_rows) {
            const uint32_t end = smaller(part_end, block + rows->block_rows);
            for (uint32_t lane = 0; lane < rows->row_step; lane++, n++) {
                if (partials) {
                    reduce_rows(logits, block + lane, end, rows->row_step, partials[n]);
                }
            }
        }
    }
    return n;
}

static struct gi_range random_grids(struct kt_run *run)
{
    struct gi_grid_slot grids[GI_MAX_SLOTS];
    for (uint32_t i = 0; i < GI_MAX_SLOTS; i++) {
        grids[i] = (struct gi_grid_slot){
            .count = {7, 7, 7},
            .rule = i % 3,
            .size = {kt_index(run, 99), kt_index(run, 9), kt_index(run, 9)},
            .axis_divisor = (i / 3 % 3) << 30 | (1 + kt_index(run, 64)),
        };
    }
    return kt_range(run, "grids", grids, sizeof(grids));
}

struct gi_range kt_step_ring(struct kt_run *run)
{
    return kt_range(run, "ring", NULL, GI_RING_SLOTS * sizeof(struct gi_ring_entry));
}

bool kt_step_init(struct kt_run *run, struct kt_step *step, const float *logits, uint32_t n_vocab,
                  const struct kt_partial_rows *rows)
{
    const uint32_t n_partial = reduce_all(logits, n_vocab, rows, NULL);
    const uint32_t partial = (n_vocab + 3) / 4 * 4;
    const uint32_t scratch = (partial + 2 * n_partial + 63) / 64 * 64;
    const uint32_t n_word = scratch + GI_SAMPLE_SCRATCH;
    uint32_t *words = kt_alloc(n_word, sizeof(*words));
    memset(words, 0xFF, n_word * sizeof(*words)); // NaN where nothing may be read
    memset(words + scratch, 0, GI_SAMPLE_ZEROS * sizeof(*words));
    memcpy(words, logits, n_vocab * sizeof(*logits));
    reduce_all(logits, n_vocab, rows, (uint32_t(*)[2])(words + partial));
    step->logits = (struct gi_logits){
        .range = kt_range(run, "logits", words, n_word * sizeof(*words)),
        .n_vocab = n_vocab,
        .partial = partial,
        .max_partial = n_partial,
        .n_partial = n_partial,
        .scratch = scratch,
    };
    // Grids of their own beside the table's, so that both dispatch modes rewrite them.
    step->buffers = (struct gi_step_buffers){run->step_state, kt_step_ring(run), random_grids(run)};
    run->state.max_steps = UINT32_MAX;
    run->state.epoch = 11;
    free(words);
    return !run->has_failed;
}

bool kt_chain(struct kt_run *run, uint32_t n)
{
    struct glinfer_error err;
    run->state.step = 0;
    if (!kt_replay(run, 0, 1)) {
        return false;
    }
    for (uint32_t i = 1; i < n; i++) {
        const struct gi_replay replay = {.n_past = i, .n_tokens = 1};
        gi_dispatch_table_replay(run->recorder.table, &replay);
    }
    return gi_gpu_finish(run->gpu, &err) || kt_fail(run, "%s", err.message);
}
