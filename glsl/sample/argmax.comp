// token = argmax of the logits, the lowest id on ties; with ban_stop, of all but stop ids.
//
//   ring    GI_RING_SLOTS entries                 (binding 0, written)
//   logits  (n_partial) of { f32 value, uint id } at word `partial`  (binding 1)
//   step_state                                    (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                    (binding 3, rewritten, with HAS_COUNTS)
//
// One group; an invocation takes every WG_SIZE-th partial. Reads 8 bytes a work group of
// gemv_vocab, the logits themselves only where the best is banned.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#include "sample/logits.glsl"

void main()
{
    uint key, id;
    bool is_sound = find_largest(state.ban_stop != 0u, key, id);
    step_advance(is_sound ? id : 0u, is_sound ? STATUS_OK : STATUS_NAN);
}
