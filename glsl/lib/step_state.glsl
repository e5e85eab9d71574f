// step_state as every kernel reads it: the twin of struct gi_step_state.
layout(std140, binding = 1) uniform StepState
{
    uint token, n_past, n_tokens, done;
    uint step, epoch, max_steps, n_stop;
    uint seed_lo, seed_hi, top_k, n_probs;
    float temperature, top_p, min_p;
    uint n_vocab;
    uvec4 stop[4];
} state;
