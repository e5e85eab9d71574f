// What the stages of a choice among many candidates share: several groups each, one after the other.
//
//   sample_bins    counts all logits in bins of their distance from the largest
//   sample_narrow  finds the bin that the cut lies in, and counts what is in it in finer bins
//   sample_cut     finds that of the finer bins, its cell; draws from what comes before, and lists the cell
//   sample_many    finds the cut in the list, draws from what it leaves, and ends the step
//
// What is cut, the order in which, and the bins are lib/select.glsl's, smaller. By number (top_k) and by
// mass (top_p of what that leaves) the second and third stage come twice. All sums are of integers.
//
// A stage leaves, each from a multiple of 64 words:
//   bins  head of { key of the largest, its id, NO_ID if the logits are unsound } or, of finer ones, of { bin,
//         rest of the goal (low, high), mass before the bin (low, high) }, then from word 64 on for each group
//         N_BIN counts, low and high words of masses
//   list  head of { elements, bin, first and last place, rest (low, high), mass before the cell (low,
//         high) }, from word 64 on LIST_ROOM of { key, id }, of more elements only the number, then for each
//         group the best of the draw as { score as a key, id }
#define BIN_BITS 8
#define BINS_PER_UNIT 8.0
#include "lib/select.glsl"

#define HEAD 64u
#define LIST_ROOM N_LIST
#define BESTS_AT (HEAD + 2u * LIST_ROOM)

float lowest; // logit - max that min_p lets pass
bool has_bans; // stop ids are left out
uint begin, end; // the group's share of the logits

// Equal in all invocations. Takes what sample_bins found of the largest; without a sound one there is nothing
// to look at.
bool take_largest()
{
    max_logit = value_of(logits[bins_at]);
    lowest = lowest_drawn();
    has_bans = state.ban_stop != 0u;
    return logits[bins_at + 1u] != NO_ID;
}

void take_share(bool is_sound)
{
    uint share = (n_vocab - 1u) / gl_NumWorkGroups.x + 1u;
    begin = gl_WorkGroupID.x * share;
    end = is_sound ? min(begin + share, n_vocab) : 0u;
}

bool is_allowed(uint id)
{
    return !(has_bans && is_stop_id(id));
}

// As many as there are, at most.
uvec2 count_goal()
{
    uint n_banned = has_bans ? min(state.n_stop, n_vocab - 1u) : 0u;
    return uvec2(min(state.top_k, n_vocab - n_banned), 0u);
}

//-- bins ------------------------------------------------------------------------------------------

// What a stage counts: numbers for a cut by number, masses if there is one by mass.
bool has_count()
{
    return by_mass == 0u;
}

bool has_mass()
{
    return wanted_top_p() < 1.0;
}

void add_to_bin(uint bin, uint count, uvec2 mass)
{
    if (has_count()) {
        atomicAdd(bin_count[bin], count);
    }
    if (has_mass()) {
        uint old = atomicAdd(bin_mass_lo[bin], mass.x), high = mass.y;
        high += old + mass.x < old ? 1u : 0u;
        if (high > 0u) {
            atomicAdd(bin_mass_hi[bin], high);
        }
    }
}

// Counts an element in bin `to`.
void count_key(uint to, uint key)
{
    uvec2 mass = uvec2(0u);
    if (has_mass()) {
        mass = mass_of(key);
    }
    add_to_bin(to, 1u, mass);
}

// The sum of what the groups of a stage counted.
void load_bins(uint at)
{
    uint n_share = max(uint(WG_SIZE) / N_BIN, 1u); // invocations to a bin
    clear_bins();
    for (uint i = gl_LocalInvocationIndex; i < n_share * N_BIN; i += uint(WG_SIZE)) {
        uint bin = i % N_BIN, count = 0u;
        uvec2 mass = uvec2(0u);
        for (uint group = i / N_BIN; group < n_many; group += n_share) {
            uint from = at + HEAD + 3u * N_BIN * group + bin;
            if (has_count()) {
                count += logits[from];
            }
            if (has_mass()) {
                mass = add_mass(mass, uvec2(logits[from + N_BIN], logits[from + 2u * N_BIN]));
            }
        }
        add_to_bin(bin, count, mass);
    }
    sum_chunks();
}

// The mass of the first n bins; the others are lost.
uvec2 mass_of_bins(uint n)
{
    barrier();
    for (uint i = n + gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
        bin_mass_lo[i] = 0u;
        bin_mass_hi[i] = 0u;
    }
    sum_chunks();
    return total_mass();
}

//-- spans -----------------------------------------------------------------------------------------

Span narrowed(Span span, uint bin)
{
    narrow(span, Crossing(bin, 2u, 0u, uvec2(0u)), false);
    return span;
}

// A part of a bin; of one key: by its ids.
Span cell_span(uint bin, uint first, uint last)
{
    Span span = Span(LEVEL_KEYS, bin, 0u, first, last, 0u);
    if (first == last) {
        span = Span(LEVEL_IDS, bin, ~last, 0u, n_vocab - 1u, 0u);
    }
    span.shift = uint(max(findMSB(span.last - span.first) - (BIN_BITS - 1), 0));
    return span;
}
