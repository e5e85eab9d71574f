// The walk over the entries of a table, n_steps times: main of a program that
// src/persistent/source/persistent_source.c makes. It gives
//
//   table            ENTRY_QUADS of table an entry: stage, barrier and place of its parameters; where its
//                    bindings begin, in elements; which buffer of their kind they lie in
//   run_step()       all groups of all entries that are this group's; false if groups are missing
layout(location = 0) uniform uint n_steps;
layout(location = 2) uniform uint n_empty; // barriers before the first step

void main()
{
    bool is_sound = grid_start();
    for (uint i = 0u; i < n_empty && is_sound; i++) {
        is_sound = grid_barrier();
    }
    for (uint step = 0u; step < n_steps && is_sound; step++) {
        // The same in all groups: nobody writes it before the next barrier.
        uint done = state.done;
        step_now = StepNow(state.token, state.n_past, state.n_tokens);
        if (done != 0u) {
            break;
        }
        is_sound = run_step() && grid_barrier();
        grid_is_settled = true;
    }
    if (is_sound) {
        grid_end();
    }
}
