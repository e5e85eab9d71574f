// The last stage of a choice among many candidates (lib/many.glsl): the cut in the cell that was listed, the best of
// the draw, and the end of the step.
//
//   ring    GI_RING_SLOTS entries                            (binding 0, written)
//   logits  with the list at list_at, its bests behind it    (binding 1)
//   step_state                                               (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                               (binding 3, rewritten, with HAS_COUNTS)
//
// One group, which looks at a list of tens of elements; at all logits only if more than LIST_ROOM are nearly equal.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "lib/step.glsl"
#include "lib/best.glsl"
#include "lib/logits.glsl"
#include "lib/exp_log.glsl"
#include "lib/philox.glsl"
#include "lib/mass.glsl"
#include "lib/draw.glsl"
#include "lib/many.glsl"
#include "lib/settle.glsl"

layout(local_size_x = WG_SIZE) in;

uint best = 0u, best_id = NO_ID; // this invocation's

void take_best(uint score, uint id)
{
    if (is_better(score, id, best, best_id)) {
        best = score;
        best_id = id;
    }
}

void main()
{
    bool is_sound = take_largest();
    settle_cut(by_mass != 0u, is_sound);
    for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
        uvec2 element = read_element(i);
        if (is_left(element)) {
            take_best(draw_key(value_of(element.x) - max_logit, lowest, element.y), element.y);
        }
    }
    for (uint i = gl_LocalInvocationIndex; i < n_many; i += uint(WG_SIZE)) {
        take_best(logits[list_at + BESTS_AT + 2u * i], logits[list_at + BESTS_AT + 2u * i + 1u]);
    }
    find_best(best, best_id);
    uint token = is_drawn() ? best_id : logits[bins_at + 1u];
    is_sound = is_sound && token < n_vocab;
    step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
}
