// The ring of results, binding 0: the twin of struct gi_ring_entry.
#define RING_SLOTS 512u
#define MAX_PROBS 64u

struct RingEntry {
    uint token, step, epoch, status;
    uvec2 probs[MAX_PROBS]; // id, log-probability as bits
};
layout(std430, binding = 0) restrict buffer Ring { RingEntry ring[]; };
