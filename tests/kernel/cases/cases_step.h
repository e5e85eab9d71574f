// The end of a step in tests: logits with the partial maxima that gemv_vocab would leave, a ring
// and the grids, shared by the cases of argmax and sample.
#ifndef CASES_STEP_H
#define CASES_STEP_H

#include "ops/sample/sample.h"
#include "tests/kernel/fixture/kernel_test.h"

struct kt_step {
    struct gi_logits logits;
    struct gi_step_buffers buffers; // state and counts are the run's
};

typedef void (*kt_step_op)(struct gi_recorder *recorder, const struct gi_logits *logits,
                           const struct gi_step_buffers *step);

// Which logits a partial result is of: every row_step-th of block_rows, counted from the first of
// part_rows.
struct kt_partial_rows {
    uint32_t block_rows, row_step, part_rows;
};

// Lets run->state run for ever.
bool kt_step_init_rows(struct kt_run *run, struct kt_step *step, const float *logits,
                       uint32_t n_vocab, const struct kt_partial_rows *rows);
// The same with partial results of n_group logits each.
bool kt_step_init(struct kt_run *run, struct kt_step *step, const float *logits, uint32_t n_vocab,
                  uint32_t n_group);
// Records the op, which ends a step, and seals.
bool kt_step_record(struct kt_run *run, struct kt_step *step, kt_step_op op);
// Replays n steps, the first at position 0 and step 0, without the host in between.
bool kt_step_chain(struct kt_run *run, uint32_t n);
// Reads a ring entry.
bool kt_step_entry(struct kt_run *run, const struct kt_step *step, uint32_t slot,
                   struct gi_ring_entry *entry);
// Returns true if a chain samples what single steps from the host sample, with n_probs
// log-probabilities.
bool kt_step_compare_chain(struct kt_run *run, kt_step_op op, uint32_t n_probs);

#endif
