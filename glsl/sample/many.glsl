// What the stages of a choice among many candidates share, three dispatches one after the other:
//
//   sample_bins  many groups: how many logits there are, and how heavy, by bins of their distance from the largest
//   sample_draw  many groups: which bins the cuts lie in; the best of the draw before those, which they leave, and in
//                those, which are open; lists what is in open bins, if that is little
//   sample_many  one group: the best of both, if the cuts leave it; ends the step
//
// Tokens are ordered by logit, larger first, and by id, lower first. The cut by number leaves the top_k first of them;
// that by mass the least number of these whose mass reaches top_p of that of all of them. Exactly where in a bin a cut
// lies matters only if the best of the draw is in that bin, so it is found only then. All sums are of integers.
//
// What stages leave, at word many_at of the logits:
//   SUMS     by bins: counts, then masses in limbs of 24, 24 and 16 bits, which groups add to; zero between steps
//   LARGEST  key of the largest logit; its id, NO_ID if the logits are unsound
//   CUTS     tokens listed so far, then what struct Cuts says
//   LIST     key and id of each that is listed
//   BESTS    for each group { score as a key, id } of the best that is left, and of the best that is open
#define N_BIN 512u
#define BINS_PER_UNIT 16.0
#define FAN 8u // bins to a chunk, chunks to a block
#define CHUNKS N_BIN
#define BLOCKS (CHUNKS + N_BIN / FAN)
#define N_SUM (BLOCKS + N_BIN / FAN / FAN)
#define LIST_ROOM N_BIN
#define NO_ID 0xFFFFFFFFu

#define LARGEST (4u * N_BIN)
#define CUTS (LARGEST + 64u)
#define LIST (CUTS + 64u)
#define BESTS (LIST + 2u * LIST_ROOM)

// Sums of bins, of chunks of these, of blocks of those.
shared uint sum_count[N_SUM], sum_lo[N_SUM], sum_hi[N_SUM];

// Equal in all invocations.
uint top_k;     // 0: not wanted
float top_p;    // 1: not wanted
float lowest;   // logit - max that min_p lets pass
bool has_bans;  // stop ids are left out
uint share_begin, share_end; // the group's share of the logits
Draw draw;

void read_settings()
{
    has_bans = state.ban_stop != 0u;
    top_k = wanted_top_k(has_bans);
    top_p = wanted_top_p();
    lowest = lowest_drawn();
    draw = read_draw();
}

bool has_cuts()
{
    return top_k > 0u || top_p < 1.0;
}

void take_share(bool is_sound)
{
    uint share = (n_vocab - 1u) / gl_NumWorkGroups.x + 1u;
    share_begin = gl_WorkGroupID.x * share;
    share_end = is_sound ? min(share_begin + share, n_vocab) : 0u;
}

// Whether a token is no stop id, or those are not left out. As sample/stop_id.glsl has it, but in a loop, which is
// little text.
bool is_allowed(uint id)
{
    bool is_stop = false;
    for (uint i = 0u; has_bans && 4u * i < state.n_stop; i++) {
        uvec4 is_used = uvec4(lessThan(4u * i + uvec4(0u, 1u, 2u, 3u), uvec4(state.n_stop)));
        is_stop = is_stop || (is_used & uvec4(equal(state.stop[i], uvec4(id)))) != uvec4(0u);
    }
    return !is_stop;
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
    if (top_p < 1.0) {
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

// Sums up those bins that an invocation has set itself, behind clear_sums().
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

// Where a running sum over the bins reaches its goal: N_BIN if nowhere.
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
