// A joint step decodes one token of each of several sequences, each in a slot of its own: its list
// has dispatches that work on a row a slot, and dispatches of one slot (gi_dispatch.slot), which
// read that sequence's step_state. The table's own step_state has n_tokens rows and nothing else.
#pragma once

#include "gpu/dispatch/step_state.h"

// Holds the places of the sequences of a joint chain.
struct gi_joint_place {
    uint32_t live;                // bit i: slot i takes part; dispatches of others are left out
    uint32_t left;                // bit i: nobody waits for slot i of a chain in flight
    uint32_t n_past[GI_MAX_ROWS]; // keys of each in the cache before the first step
    uint32_t first[GI_MAX_ROWS];  // steps of each since its epoch began
};
