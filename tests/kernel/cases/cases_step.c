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
    for (uint32_t part = 0; part < n_vocab; part += rows->part_rows) {
        const uint32_t part_end = smaller(n_vocab, part + rows->part_rows);
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

bool kt_step_init_rows(struct kt_run *run, struct kt_step *step, const float *logits,
                       uint32_t n_vocab, const struct kt_partial_rows *rows)
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
    step->buffers = (struct gi_step_buffers){
        .state = run->step_state,
        .ring = kt_range(run, "ring", NULL, GI_RING_SLOTS * sizeof(struct gi_ring_entry)),
        .counts = run->step_counts,
    };
    run->state.max_steps = UINT32_MAX;
    run->state.epoch = 11;
    free(words);
    return step->logits.range.buffer && step->buffers.ring.buffer;
}

bool kt_step_init(struct kt_run *run, struct kt_step *step, const float *logits, uint32_t n_vocab,
                  uint32_t n_group)
{
    const struct kt_partial_rows rows = {n_group, 1, n_vocab};
    return kt_step_init_rows(run, step, logits, n_vocab, &rows);
}

bool kt_step_record(struct kt_run *run, struct kt_step *step, kt_step_op op)
{
    op(&run->recorder, &step->logits, &step->buffers);
    return kt_seal(run);
}

bool kt_step_chain(struct kt_run *run, uint32_t n)
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

bool kt_step_entry(struct kt_run *run, const struct kt_step *step, uint32_t slot,
                   struct gi_ring_entry *entry)
{
    return kt_read(run, &step->buffers.ring, slot * sizeof(*entry), entry, sizeof(*entry));
}

bool kt_step_compare_chain(struct kt_run *run, kt_step_op op, uint32_t n_probs)
{
    enum { N_STEP = 20, N_VOCAB = 1000 };
    float logits[N_VOCAB];
    struct gi_ring_entry chained[N_STEP], single;
    struct kt_step step;
    kt_fill(run, logits, N_VOCAB, -2, 2);
    run->state.temperature = 1;
    run->state.top_k = 100;
    run->state.top_p = 0.9F;
    run->state.n_probs = n_probs;
    run->state.seed_lo = 77;
    if (!kt_step_init(run, &step, logits, N_VOCAB, 16) || !kt_step_record(run, &step, op) ||
        !kt_step_chain(run, N_STEP)) {
        return false;
    }
    for (uint32_t i = 0; i < N_STEP; i++) {
        if (!kt_step_entry(run, &step, i, &chained[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < N_STEP; i++) {
        run->state.step = i;
        if (!kt_replay(run, i, 1) || !kt_step_entry(run, &step, i, &single)) {
            return false;
        }
        const size_t size =
            offsetof(struct gi_ring_entry, probs) + n_probs * sizeof(single.probs[0]);
        if (memcmp(&single, &chained[i], size) != 0) {
            return kt_fail(run, "step %u: %u alone, %u in a chain", i, single.token,
                           chained[i].token);
        }
    }
    return true;
}
