// When a session looks for the persistent program of its steps, has it compiled, and tries it out; with what groups.
// Decisions alone: engine/run/session_persistent.c carries them out.
#ifndef GI_ENGINE_PERSISTENT_POLICY_H
#define GI_ENGINE_PERSISTENT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

// How far a session is with the persistent program of one end of a step.
enum gi_persistent_phase {
    GI_PERSISTENT_OFF,       // steps are ordinary dispatches, for as long as the session lives
    GI_PERSISTENT_UNKNOWN,   // nothing was done yet
    GI_PERSISTENT_MISSING,   // its text is written, and the cache has no program of it
    GI_PERSISTENT_DELEGATED, // likewise, and another process was asked to compile it
    GI_PERSISTENT_LOADED,    // taken from the cache
    GI_PERSISTENT_READY,     // chains take it
};

// What a decision rests on. Times in ns.
struct gi_persistent_scene {
    enum gi_persistent_phase phase;
    bool is_hurried;     // GLINFER_DISPATCH asks for it
    bool has_delegate;   // there is somebody to ask
    bool is_tried;       // there is a verdict
    uint64_t session_ns; // that this session has spent on decode steps so far
    uint64_t process_ns; // that all have
    uint64_t step_ns;    // of an ordinary step; 0: not known yet
    uint64_t take_ns;    // that taking what was loaded takes; 0: not known
    uint64_t waited_ns;  // since the cache was last looked at
    uint32_t n_free;     // places in the KV cache behind the last token
};

// Places in the cache that trying out takes at most.
#define GI_PERSISTENT_TRIED_STEPS 8

// Whether to write the text and see what is kept of it: some ten milliseconds of the host, which is as long as what a
// session must have decoded before they are spent on it.
bool gi_persistent_may_look(const struct gi_persistent_scene *scene);
// Whether to ask for it to be compiled. A process that has decoded for a second is one whose speed matters; a step of
// 10 ms or more is not held up by its dispatches, and would take long to try out.
bool gi_persistent_may_delegate(const struct gi_persistent_scene *scene);
// Whether to see if it is there by now.
bool gi_persistent_may_look_again(const struct gi_persistent_scene *scene);
// Whether to take what was loaded here, trying it out if it never was: a session must have decoded for as long as that
// holds it up, which is taken for a tenth of a second until it is known.
bool gi_persistent_may_try(const struct gi_persistent_scene *scene);
// Whether groups should be large (struct gi_gpu_persistent) where n_groups of them read layers of so many bytes: from
// 256 KiB each on that was seen to be faster. With smaller ones it is, too, but slower at long contexts: Qwen3-0.6B on an
// H200 2,240 tokens/s in groups of 512, 2,172 in those of 256; at 2,048 keys 1,518 and 1,640.
bool gi_persistent_has_large_groups(uint64_t layer_bytes, uint32_t n_groups);
// Whether they may be where steps end with a draw (ops/sample/sample_top.h), too, in what groups of 512 share: attention over
// heads of 256 takes 16 KiB of 48 there, x 20, sums 4, reductions 4 and the draw 7.
bool gi_persistent_has_room_to_draw(uint32_t head_dim);

#endif
