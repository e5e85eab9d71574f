// The walk over the entries of a table, n_steps times: main of a program that src/gpu/persistent_source.c
// makes. It gives
//
//   N_ENTRY, table   ENTRY_QUADS of table an entry: stage, barrier and place of its parameters; where its
//                    four bindings begin, in elements; which buffer of their kind they lie in
//   run_stage(stage) all groups of an entry that are this group's
#define ENTRY_QUADS 3u
#define ENTRY_BARRIER 0x100u

layout(location = 0) uniform uint n_steps;
layout(location = 2) uniform uint n_empty; // barriers before the first step

void read_state()
{
    step_now = StepNow(state.token, state.n_past, state.n_tokens);
}

bool run_entry(uint entry)
{
    uvec4 head = table[entry * ENTRY_QUADS];
    if ((head.x & ENTRY_BARRIER) != 0u && !grid_barrier()) {
        return false;
    }
    entry_params = head.y;
    entry_begin = table[entry * ENTRY_QUADS + 1u];
    entry_buffer = table[entry * ENTRY_QUADS + 2u];
    run_stage(head.x & 0xFFu);
    return true;
}

void main()
{
    bool is_sound = grid_start();
    for (uint i = 0u; i < n_empty && is_sound; i++) {
        is_sound = grid_barrier();
    }
    for (uint step = 0u; step < n_steps && is_sound; step++) {
        // The same in all groups: nobody writes it before the next barrier.
        if (state.done != 0u) {
            break;
        }
        read_state();
        for (uint i = 0u; i < N_ENTRY && is_sound; i++) {
            is_sound = run_entry(i);
        }
        is_sound = is_sound && grid_barrier();
    }
    if (is_sound) {
        grid_end();
    }
}
