// The loops of kernels, counted: a driver with GI_QUIRK_LOOP_LIMIT ends all loops of a program
// after 65,535 iterations together, without an error. Every dispatch is checked when it is
// recorded; an op that has another form looks at gi_loops_fit first.
#ifndef GI_OPS_LOOP_TURNS_H
#define GI_OPS_LOOP_TURNS_H

#include "gpu/dispatch/dispatch_table.h"

// Sets *n_turn to at least the iterations that an invocation of the dispatch makes of all its loops
// in a full context, without those that drivers unroll; 0: bounded by constants and the width of a
// row. Returns false for a kernel whose loops nobody has counted.
bool gi_loop_turns(const struct gi_program_key *key, const struct gi_dispatch *dispatch,
                   uint64_t *n_turn);

// Returns the iterations of a prompt's attention by attention_batch_row (vectors > 0) or
// attention_batch in the form of a lane for each key, with tiles of `keys` keys of n_key.
uint64_t gi_loop_turns_of_keys(uint32_t n_key, uint32_t head_dim, uint32_t keys, uint32_t vectors);

// Returns whether the driver runs that many iterations.
bool gi_loops_fit(const struct gi_gpu *gpu, uint64_t n_turn);
// Fails with UNSUPPORTED if it does not run those of a dispatch.
bool gi_loops_check(const struct gi_gpu *gpu, const struct gi_program_key *key,
                    const struct gi_dispatch *dispatch, struct glinfer_error *err);

#endif
