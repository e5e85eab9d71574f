// The short convolution that LFM2 has in place of attention: a layer keeps only the inputs of the
// last tokens (formula: glsl/conv/short_conv.comp).
#pragma once

#include "ops/embed/embed.h"
#include "ops/record/recorder.h"

// Columns of the projection's row: b, c and x of all channels begin at 0, section and 2 section.
struct gi_short_conv {
    uint32_t n_channel; // a multiple of 4
    uint32_t n_taps;    // tokens that the convolution sees, 2 to 8
    uint32_t section;   // a multiple of 4
    uint32_t taps;      // offset in vectors: (n_channel, n_taps)
    uint32_t n_after;   // tokens after its own that one sees, in a batch that is the whole text
};

// Returns the floats of a layer's state, (n_taps - 1, n_channel): b * x of the last tokens.
uint32_t gi_short_conv_state_size(const struct gi_short_conv *conv);

// y (n_channel) = c * conv(b * x) for each row of a batch or for the only row of a step. Advances
// the state at `past` by these tokens, unless a step's step_state is done. One dispatch.
void gi_op_short_conv(struct gi_recorder *recorder, const struct gi_short_conv *conv, bool is_batch,
                      const struct gi_rows *bcx, const struct gi_vectors *vectors,
                      struct gi_range past, const struct gi_rows *y);
