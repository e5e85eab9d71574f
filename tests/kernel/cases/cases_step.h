// The end of a step in tests: logits with the partial results that gemv_vocab would leave, a ring
// and grids, shared by the cases of adjust and sample.
#pragma once

#include "ops/sample/sample.h"
#include "tests/kernel/fixture/kernel_test.h"

struct kt_step {
    struct gi_logits logits;
    struct gi_step_buffers buffers; // the state is the run's
};

typedef void (*kt_step_op)(struct gi_recorder *recorder, const struct gi_logits *logits,
                           const struct gi_step_buffers *step);

// Which logits a partial result is of: every row_step-th of block_rows, counted from the first of
// part_rows, 0: all.
struct kt_partial_rows {
    uint32_t block_rows, row_step, part_rows;
};

// Makes the ranges with grids of all rules. Lets run->state run for ever.
bool kt_step_init(struct kt_run *run, struct kt_step *step, const float *logits, uint32_t n_vocab,
                  const struct kt_partial_rows *rows);
// Makes a ring of which nothing is written.
struct gi_range kt_step_ring(struct kt_run *run);
// Replays n steps, the first at position 0 and step 0, without the host in between.
bool kt_chain(struct kt_run *run, uint32_t n);
