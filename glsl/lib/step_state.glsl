// step_state as every kernel reads it: the twin of struct gi_step_state. A kernel that defines
// STEP_STATE_WRITTEN has it as storage at binding 2 and advances it; with STEP_STATE_COHERENT all
// groups see that at once. With STATE_ROWS it is a type, of which lib/slot.glsl has STATE_ROWS.
#if defined(STEP_STATE_COHERENT)
layout(std430, binding = 2) coherent buffer StepState
#elif defined(STATE_ROWS)
struct StepState
#elif defined(STEP_STATE_WRITTEN)
layout(std430, binding = 2) restrict buffer StepState
#else
layout(std140, binding = 1) uniform StepState
#endif
{
    uint token, n_past, n_tokens, done;
    uint step, epoch, max_steps, n_stop;
    uint seed_lo, seed_hi, top_k, n_probs;
    float temperature, top_p, min_p;
    uint ban_stop;
    uvec4 stop[4];
    uint adjust, n_window, window_skip;
    float repeat_penalty, presence_penalty, frequency_penalty;
    uint n_shifted;
#if defined(STATE_ROWS)
    uvec4 unused[6]; // up to GI_STEP_STATE_STRIDE
#endif
} state;
