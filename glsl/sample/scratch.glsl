// Kernels that sample leave this at word `scratch` of the logits, in words. Needs
// sample/logits.glsl with LOGITS_SHARED.
//
//   LISTED   tokens in LIST, and ARRIVED for each group that has looked at its share            zero between steps
//   BINNED   ARRIVED for each group that has added to SUMS                                      zero between steps
//   MASS     the mass of all tokens, in limbs                                                   zero between steps
//   SUMS     by bins: counts, then masses in limbs (sample/full.glsl)                           zero between steps
//   LARGEST  key of the largest logit; its id, NO_ID if the logits are unsound
//   CUTS     struct Cuts (sample/full.glsl)
//   LIST     key and id of each token that is listed
//   BESTS    for each group { score, id } of the best that is left, and of the best that is open
#define LISTED params.scratch
#define BINNED (params.scratch + 1u)
#define MASS (params.scratch + 2u)
#define SUMS (params.scratch + 64u)
#define LARGEST (SUMS + 4u * 512u)
#define CUTS (LARGEST + 2u)
#define LIST (LARGEST + 64u)
#define BESTS (LIST + 2u * 512u)

#define ARRIVED 0x100000u // more than there are tokens

shared uint n_arrived;

// True in the last group that comes here, which sees what all have written before. Sets n_listed to
// the tokens that are counted at `counter`. To be called by all invocations.
bool is_last_group(uint counter, out uint n_listed)
{
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        n_arrived = atomicAdd(logits[counter], ARRIVED);
    }
    barrier();
    memoryBarrierBuffer();
    n_listed = n_arrived % ARRIVED;
    return n_arrived / ARRIVED + 1u == gl_NumWorkGroups.x;
}

// Adds a token to LIST, if there is room.
void list_token(uint key, uint id, uint room)
{
    uint at = atomicAdd(logits[LISTED], 1u) % ARRIVED;
    if (at < room) {
        logits[LIST + 2u * at] = key;
        logits[LIST + 2u * at + 1u] = id;
    }
}
