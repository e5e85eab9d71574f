// The two dispatches that sample from the whole vocabulary share this:
//
//   full_bins    many groups: how many tokens there are, and how heavy, by bins of their distance from the largest; the
//                last group finds which bins the cuts of top_k and of top_p lie in
//   full_sample  many groups: the best score in bins before those, which are left, and in those, which are open; lists
//                the tokens of open bins, if they are few; the last group takes the best of both, if the cuts leave it,
//                and ends the step
//
// Exactly where in a bin a cut lies matters only if the best score is in that bin, so it is found
// only then. All sums are of integers. Needs sample/sampler.glsl, sample/scratch.glsl.
#define N_BIN 512u
#define BINS_PER_UNIT 16.0
#define FAN 8u // bins to a chunk, chunks to a block
#define CHUNKS N_BIN
#define BLOCKS (CHUNKS + N_BIN / FAN)
#define N_SUM (BLOCKS + N_BIN / FAN / FAN)
#define LIST_ROOM N_BIN

// Tokens in bins before first_open are left, those before end_open may be.
struct Cuts {
    uint first_open, end_open;
    uint n_open;   // tokens in open bins; over LIST_ROOM: they are not listed
    uint count;    // of those before
    uvec2 mass;
    bool is_exact; // share is what a cut by mass leaves: the cut by number before it ends with a
                   // bin
    uvec2 share;
};

Cuts no_cuts()
{
    return Cuts(N_BIN, N_BIN, 0u, 0u, uvec2(0u), true, uvec2(0u));
}

// Sums of bins, of chunks of these, of blocks of those.
shared uint sum_count[N_SUM], sum_lo[N_SUM], sum_hi[N_SUM];

uint share_begin, share_end; // the group's share of the logits

void take_share(bool is_sound)
{
    uint share = (params.n_vocab - 1u) / gl_NumWorkGroups.x + 1u;
    share_begin = gl_WorkGroupID.x * share;
    share_end = is_sound ? min(share_begin + share, params.n_vocab) : 0u;
}

uint bin_of(uint key)
{
    return uint(min((max_logit - value_of(key)) * BINS_PER_UNIT, float(N_BIN - 1u)));
}

//-- sums ------------------------------------------------------------------------------------------

uvec2 sum_mass(uint i)
{
    return uvec2(sum_lo[i], sum_hi[i]);
}

void add_to_sum(uint i, uint count, uvec2 mass)
{
    atomicAdd(sum_count[i], count);
    if (mass != uvec2(0u)) {
        uint old = atomicAdd(sum_lo[i], mass.x), high = mass.y;
        high += old + mass.x < old ? 1u : 0u;
        if (high > 0u) {
            atomicAdd(sum_hi[i], high);
        }
    }
}

// Counts a token, with its mass if that is asked for.
void count_key(uint bin, uint key)
{
    uvec2 mass = uvec2(0u);
    if (limits_mass()) {
        mass = mass_of(key);
    }
    add_to_sum(bin, 1u, mass);
}

void clear_sums()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_SUM; i += uint(WG_SIZE)) {
        sum_count[i] = 0u;
        sum_lo[i] = 0u;
        sum_hi[i] = 0u;
    }
    barrier();
}

// Adds up the bins that an invocation has set itself, after clear_sums().
void add_up_bins()
{
    for (uint bin = gl_LocalInvocationIndex; bin < N_BIN; bin += uint(WG_SIZE)) {
        if (sum_count[bin] > 0u) {
            add_to_sum(CHUNKS + bin / FAN, sum_count[bin], sum_mass(bin));
            add_to_sum(BLOCKS + bin / FAN / FAN, sum_count[bin], sum_mass(bin));
        }
    }
    barrier();
}

// The bin where a running sum reaches its goal: N_BIN if none does.
struct Crossing {
    uint bin;
    uint count; // of the bins before it
    uvec2 mass;
    uvec2 rest; // of the goal
};

// The goal is a mass, or a number of tokens in its low word.
Crossing find_crossing(bool is_by_mass, uvec2 goal)
{
    Crossing at = Crossing(0u, 0u, uvec2(0u), goal);
    for (uint level = 0u; level < bound(3u); level++) {
        uint from = level == 0u ? BLOCKS : level == 1u ? CHUNKS : 0u, shift = 6u - 3u * level;
        for (uint i = 0u; i < bound(FAN) && at.bin < N_BIN; i++) {
            uint sum = from + (at.bin >> shift);
            uvec2 weight = is_by_mass ? sum_mass(sum) : uvec2(sum_count[sum], 0u);
            if (!is_below(weight, at.rest)) {
                break;
            }
            at.rest = subtract_mass(at.rest, weight);
            at.count += sum_count[sum];
            at.mass = add_mass(at.mass, sum_mass(sum));
            at.bin += 1u << shift;
        }
    }
    return at;
}

uvec2 total_mass()
{
    uvec2 mass = uvec2(0u);
    for (uint i = BLOCKS; i < bound(N_SUM); i++) {
        mass = add_mass(mass, sum_mass(i));
    }
    return mass;
}
