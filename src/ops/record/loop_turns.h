// Counts the loop iterations of kernels: a driver with GI_QUIRK_LOOP_LIMIT silently ends the loops
// of a program after 65,535 iterations in total. Every dispatch is checked when it is recorded; an
// op that has an alternative calls gi_loops_fit first.
#pragma once

#include "gpu/dispatch/dispatch_table.h"

// Sets *n_turn to an upper bound of the iterations of all loops of an invocation in a full context,
// without loops that drivers unroll; 0: bounded by constants and the width of a row. Returns false
// for a kernel that has no such bound here.
bool gi_loop_turns(const struct gi_program_key *key, const struct gi_dispatch *dispatch,
                   uint64_t *n_turn);

// Returns the loop iterations of a prompt's attention over n_key keys in tiles of `keys`: by
// attention_row (vectors > 0), else by attention_lane.
uint64_t gi_loop_turns_of_keys(uint32_t n_key, uint32_t head_dim, uint32_t keys, uint32_t vectors);

// Returns true if the driver runs that many iterations.
bool gi_loops_fit(const struct gi_gpu *gpu, uint64_t n_turn);
// Fails with UNSUPPORTED if the driver does not run all iterations of a dispatch.
bool gi_loops_check(const struct gi_gpu *gpu, const struct gi_program_key *key,
                    const struct gi_dispatch *dispatch, struct glinfer_error *err);
