// Stacks of rules that wait for the one they called, as a tree: a frame is the node to return to
// and the frame below it. Equal stacks are one frame, so that stacks are compared by number. Inner
// to src/grammar.
#pragma once

#include "base/index.h"

#include <stddef.h>
#include <stdint.h>

struct gi_frame {
    uint32_t node, below; // below is a lower number; 0: the empty stack
};

struct gi_match_frames {
    struct gi_frame *data; // frame 0 is the empty stack
    size_t count, capacity;
    struct gi_index index;
};

// Zero-initialised before.
bool gi_match_frames_init(struct gi_match_frames *frames, struct glinfer_error *err);
void gi_match_frames_finish(struct gi_match_frames *frames);

// Sets *frame to the stack with node on top. Fails with NO_MEMORY.
bool gi_match_frames_push(struct gi_match_frames *frames, uint32_t node, uint32_t below,
                          uint32_t *frame, struct glinfer_error *err);

// Keeps the frames i with new_of[i] == 1, and those below them; writes their new numbers to new_of,
// (count) words. Numbers keep their order.
void gi_match_frames_keep(struct gi_match_frames *frames, uint32_t *new_of);
