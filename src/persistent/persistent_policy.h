// Decisions about persistent programs that rest on numbers alone.
#ifndef GI_PERSISTENT_POLICY_H
#define GI_PERSISTENT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

// True if steps of this length (ns, by many dispatches; 0: not known, then false) may gain by one dispatch and can be
// tried out within a time box: longer ones are not held up by their dispatches.
bool gi_persistent_is_worthwhile(uint64_t step_ns);
// True if groups should be large (struct gi_gpu_persistent) where n_groups of them read layers of so many bytes: from
// 256 KiB each on that was seen to be faster, with less slower at long contexts (glsl/measurements.md).
bool gi_persistent_has_large_groups(uint64_t layer_bytes, uint32_t n_groups);
// True if large groups have shared memory for steps that sample from a top-k list too: attention over heads of 256 takes
// 16 KiB of 48 there, x 20, sums 4, reductions 4 and the top-k list 7.
bool gi_persistent_has_room_to_sample(uint32_t head_dim);

#endif
