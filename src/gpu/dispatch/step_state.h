// step_state: the values that change with every token, advanced by the GPU. Kernels read it as UBO
// 1, the sampling kernels write it as a storage block; the twin of glsl/lib/step_state.glsl. 4-byte
// scalars only, so std140 and std430 agree with C.
#pragma once

#include <stdint.h>

#define GI_MAX_STOP_IDS 16
#define GI_MAX_PROBS    64
#define GI_RING_SLOTS   512
#define GI_MAX_BATCH    512 // tokens of a prompt batch
#define GI_MAX_ROWS     16  // sequences that a joint step serves

// Bytes from one slot's step_state to the next's in the array of a joint list: a uniform block may
// begin at each. The twin is glsl/lib/step_state.glsl, which pads to it.
#define GI_STEP_STATE_STRIDE 256

struct gi_step_state {
    uint32_t token;    // that the next step embeds
    uint32_t n_past;   // keys in the cache before this step: the position of its first token
    uint32_t n_tokens; // of this step: 1 in decode, the batch's in prompt processing
    uint32_t done;     // 1: a stop id was sampled or max_steps is reached; grids are zero
    uint32_t step;     // tokens sampled since the epoch began
    uint32_t epoch;    // changes with each generation: the sentinel's first half
    uint32_t max_steps;
    uint32_t n_stop; // ids in stop
    uint32_t seed_lo, seed_hi;
    uint32_t top_k;                 // 0: off
    uint32_t n_probs;               // 0..GI_MAX_PROBS
    float temperature;              // <= 0: greedy
    float top_p;                    // 1: off
    float min_p;                    // 0: off
    uint32_t ban_stop;              // 1: ids in stop are never chosen, and do not end the answer
    uint32_t stop[GI_MAX_STOP_IDS]; // in GLSL uvec4[4]
    // Settings of glsl/sample/adjust.comp, which changes the logits before a token is chosen:
    uint32_t adjust;      // bits of enum gi_adjust_bit; 0: nothing
    uint32_t n_window;    // tokens of the text that penalties look at
    uint32_t window_skip; // added to a position: its index in the window
    float repeat_penalty; // > 0
    float presence_penalty, frequency_penalty;
    uint32_t n_shifted; // tokens that shifts dropped: random numbers continue after them
    uint32_t padding;   // to whole vec4
};
_Static_assert(sizeof(struct gi_step_state) == GI_STEP_STATE_STRIDE - 6 * 16,
               "glsl/lib/step_state.glsl has another number of vec4 up to the stride");

enum gi_adjust_bit {
    GI_ADJUST_PENALTIES = 1,
    GI_ADJUST_BIAS = 2,
    GI_ADJUST_MASK = 4,
};

_Static_assert(sizeof(struct gi_step_state) <= GI_STEP_STATE_STRIDE, "a state has its stride");

enum gi_ring_status {
    GI_RING_STATUS_OK = 1,
    GI_RING_STATUS_NAN = 2, // a logit is infinite or not a number
};

// One sampled token. Entry step % GI_RING_SLOTS; a chain is sound if its last entry holds the epoch
// and the step that the host expects: the sentinel.
struct gi_ring_entry {
    uint32_t token;
    uint32_t step; // step_state.step before this token, that is, 0 for the first
    uint32_t epoch;
    uint32_t status; // enum gi_ring_status
    struct {
        uint32_t id;
        float logprob; // natural logarithm, over the whole vocabulary
    } probs[GI_MAX_PROBS];
};
