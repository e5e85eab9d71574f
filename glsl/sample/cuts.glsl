// Where the cuts of sample/many.glsl lie, as sample_draw finds it and sample_many takes it. Needs sample/many.glsl.

// Tokens in bins before first_open are left, those before end_open may be.
struct Cuts {
    uint first_open, end_open;
    uint n_open;   // tokens in open bins; over LIST_ROOM: there is no list
    uint count;    // of those before
    uvec2 mass;
    bool is_exact; // share is what a cut by mass leaves: the cut by number before it ends with a bin
    uvec2 share;
};

Cuts no_cuts()
{
    return Cuts(N_BIN, N_BIN, 0u, 0u, uvec2(0u), true, uvec2(0u));
}

// Takes what sample_bins found of the largest; without a sound one there is nothing to look at.
bool take_largest()
{
    max_logit = value_of(logits[many_at + LARGEST]);
    return logits[many_at + LARGEST + 1u] != NO_ID;
}

//-- bests -----------------------------------------------------------------------------------------

shared uint found_key[2], found_id[2];

// The best of those that are left, and of those that are open: { score as a key, id }.
struct Bests {
    uvec2 left, open;
};

Bests no_bests()
{
    return Bests(uvec2(0u, NO_ID), uvec2(0u, NO_ID));
}

void take_better(inout uvec2 best, uvec2 other)
{
    if (is_better(other.x, other.y, best.x, best.y)) {
        best = other;
    }
}

// Of all invocations.
Bests find_bests(Bests own)
{
    if (gl_LocalInvocationIndex < 2u) {
        found_key[gl_LocalInvocationIndex] = 0u;
        found_id[gl_LocalInvocationIndex] = NO_ID;
    }
    barrier();
    atomicMax(found_key[0], own.left.x);
    atomicMax(found_key[1], own.open.x);
    barrier();
    uvec2 largest = uvec2(found_key[0], found_key[1]);
    if (own.left.x == largest.x) {
        atomicMin(found_id[0], own.left.y);
    }
    if (own.open.x == largest.y) {
        atomicMin(found_id[1], own.open.y);
    }
    barrier();
    return Bests(uvec2(largest.x, found_id[0]), uvec2(largest.y, found_id[1]));
}
