// The work of a recorded dispatch, and a first guess at the GPU time that it takes, from the rates
// of the device's class: before anything was measured. gpu/dispatch/time_box.h corrects the guess.
#pragma once

#include "gpu/dispatch/dispatch_table.h"

// Returns the bytes of weights and of cached keys and values that n_tokens after n_past read.
uint64_t gi_dispatch_bytes(const struct gi_dispatch *dispatch, uint32_t n_past, uint32_t n_tokens);
// Returns the operations that these take part in; a multiply-add is two.
uint64_t gi_dispatch_flops(const struct gi_dispatch *dispatch, uint32_t n_past, uint32_t n_tokens);
// Returns nanoseconds. Groups of a grid that counts tokens work on all of theirs, there or not.
double gi_dispatch_estimate(const struct gi_dispatch *dispatch, const struct gi_device_class *class,
                            uint32_t n_past, uint32_t n_tokens);

// Returns true if that is long enough for the dispatch to run in pieces, so that its program should
// take a first group.
bool gi_dispatch_wants_pieces(const struct gi_dispatch *dispatch,
                              const struct gi_device_class *class, uint32_t n_past,
                              uint32_t n_tokens);
