// Params of the kernels in glsl/sample.
#ifndef GI_GLSL_SAMPLE_PARAMS_H
#define GI_GLSL_SAMPLE_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(adjust,
    uint n_vocab;
    uint partial; // offset in words of the logits
    uint n_part;  // a power of two, at most WG_SIZE
    uint bias, mask, window; // offsets in words of the table
    uint n_slot;
)

GI_PARAMS(logit_rows,
    uint stride, n_vocab, partial;
    float scale, softcap;
)

// argmax, top_k, full_bins and full_sample.
GI_PARAMS(argmax,
    uint n_vocab, n_partial;
    uint partial, scratch; // offsets in words of the logits; sample/scratch.glsl describes the scratch
)

// rules, sums: offsets in words of the logits (lib/speech_kinds.glsl).
GI_PARAMS(speech_sums,
    uint n_vocab;
    uint rules, sums;
    uint suppressed; // offset in words of the table
)

GI_PARAMS(speech_choice,
    uint n_vocab;
    uint rules, sums;
    uint n_group; // of speech_sums
    uint end, time, no_speech; // ids; timestamps begin with time
)

GI_PARAMS(logprob,
    uint stride, n_vocab, one; // one is 1: see reduce_max
    float scale, softcap;
)

#endif
