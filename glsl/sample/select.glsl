// What selecting the largest logits by number or by mass without sorting is made of.
//
// Elements are ordered by (bin, key, id): the bin of their distance below the maximum, linear and
// so fine where it matters; the logit's bits as a key, larger first; the id, lower first. A cut is
// a place in that order: what comes up to it is kept. It is found by histograms: of bins, then of
// ever finer ranges of keys inside the bin that it lies in, then, for equal keys, of ranges of ids.
// Sums are integers, so nothing depends on the order of the atomics.
//
// Needs WG_SIZE, sample/best.glsl, sample/logits.glsl, sample/mass.glsl; uses 14.4 KiB of shared memory with bins of 9
// bits.
#ifndef BIN_BITS
#define BIN_BITS 9
#define BINS_PER_UNIT 16.0
#endif
#define N_BIN (1u << BIN_BITS)
#define N_LIST 1024u
#define N_CHUNK 32u
#define CHUNK_BINS (N_BIN / N_CHUNK)
#define NO_ID 0xFFFFFFFFu

shared uint bin_count[N_BIN], bin_mass_lo[N_BIN], bin_mass_hi[N_BIN];
shared uint chunk_count[N_CHUNK], chunk_mass_lo[N_CHUNK], chunk_mass_hi[N_CHUNK];
shared uint list_key[N_LIST], list_id[N_LIST];
shared uint n_appended;

// Equal in all invocations.
uint cut_bin = N_BIN - 1u, cut_key = 0u, cut_id = NO_ID;

//-- order -----------------------------------------------------------------------------------------

uint bin_of(uint key)
{
    return uint(min((max_logit - value_of(key)) * BINS_PER_UNIT, float(N_BIN - 1u)));
}

bool is_kept(uint bin, uint key, uint id)
{
    return bin < cut_bin ||
           (bin == cut_bin && (key > cut_key || (key == cut_key && id <= cut_id)));
}

// Moves the cut to a place before it.
void tighten(uint bin, uint key, uint id)
{
    if (is_kept(bin, key, id)) {
        cut_bin = bin;
        cut_key = key;
        cut_id = id;
    }
}

void reset_cut()
{
    cut_bin = N_BIN - 1u;
    cut_key = 0u;
    cut_id = NO_ID;
}

//-- histograms ------------------------------------------------------------------------------------

// A part of the order: all of it by bin, or the elements of one bin whose place is in [first, last].
// The place is the key upside down or, among elements that share a key, the id.
#define LEVEL_BINS 0u
#define LEVEL_KEYS 1u
#define LEVEL_IDS 2u
struct Span {
    uint level, bin, key;
    uint first, last, shift;
};

// Counts an element, if it lies in the span, at (place - first) >> shift.
void count_element(Span span, uint bin, uint key, uint id, bool has_mass)
{
    uint place = span.level == LEVEL_IDS ? id : ~key;
    bool is_inside = (span.level == LEVEL_IDS ? key == span.key : bin == span.bin) &&
                     place >= span.first && place <= span.last;
    uint index = span.level == LEVEL_BINS ? bin : (place - span.first) >> span.shift;
    if (span.level != LEVEL_BINS && !is_inside) {
        return;
    }
    atomicAdd(bin_count[index], 1u);
    if (has_mass) {
        uvec2 mass = mass_of(key);
        uint old = atomicAdd(bin_mass_lo[index], mass.x);
        atomicAdd(bin_mass_hi[index], mass.y + (old + mass.x < old ? 1u : 0u));
    }
}

void clear_bins()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
        bin_count[i] = 0u;
        bin_mass_lo[i] = 0u;
        bin_mass_hi[i] = 0u;
    }
    if (gl_LocalInvocationIndex == 0u) {
        n_appended = 0u;
    }
    barrier();
}

void sum_chunks()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_CHUNK; i += uint(WG_SIZE)) {
        uint count = 0u;
        uvec2 mass = uvec2(0u);
        for (uint j = i * CHUNK_BINS; j < bound((i + 1u) * CHUNK_BINS); j++) {
            count += bin_count[j];
            mass = add_mass(mass, uvec2(bin_mass_lo[j], bin_mass_hi[j]));
        }
        chunk_count[i] = count;
        chunk_mass_lo[i] = mass.x;
        chunk_mass_hi[i] = mass.y;
    }
    barrier();
}

uvec2 total_mass()
{
    uvec2 mass = uvec2(0u);
    for (uint i = 0u; i < bound(N_CHUNK); i++) {
        mass = add_mass(mass, uvec2(chunk_mass_lo[i], chunk_mass_hi[i]));
    }
    return mass;
}

// Where a running sum over the bins reaches its goal.
struct Crossing {
    uint bin;
    uint count;  // elements in the bin
    uint before; // elements in the bins before it
    uvec2 rest;  // of the goal, for this bin
};

// The goal is a mass, or a number of elements in its low word. At least one element is counted.
Crossing find_crossing(bool is_by_mass, uvec2 goal)
{
    Crossing at = Crossing(0u, 0u, 0u, goal);
    for (uint i = 0u; i < bound(N_CHUNK); i++) {
        uvec2 weight = is_by_mass ? uvec2(chunk_mass_lo[i], chunk_mass_hi[i])
                                  : uvec2(chunk_count[i], 0u);
        if (!is_below(weight, at.rest)) {
            break;
        }
        at.rest = subtract_mass(at.rest, weight);
        at.before += chunk_count[i];
        at.bin += CHUNK_BINS;
    }
    for (uint i = 0u; i < bound(CHUNK_BINS) && at.bin < N_BIN; i++) {
        uvec2 weight = is_by_mass ? uvec2(bin_mass_lo[at.bin], bin_mass_hi[at.bin])
                                  : uvec2(bin_count[at.bin], 0u);
        at.count = bin_count[at.bin];
        if (!is_below(weight, at.rest)) {
            break;
        }
        at.rest = subtract_mass(at.rest, weight);
        at.before += at.count;
        at.bin++;
    }
    return at;
}

//-- narrowing -------------------------------------------------------------------------------------

Span whole_span()
{
    return Span(LEVEL_BINS, 0u, 0u, 0u, 0u, 0u);
}

// The keys that the elements of a bin may have, and a few more to be sure of the rounding.
Span bin_span(uint bin)
{
    float distance = float(bin + 1u) / BINS_PER_UNIT;
    float slack = (abs(max_logit) + distance) * 2.4e-7 + 1e-30;
    float high = max_logit - float(bin) / BINS_PER_UNIT + slack;
    float low = max_logit - distance - slack;
    uint first = ~key_of(floatBitsToUint(high));
    uint last = bin >= N_BIN - 1u ? 0xFFFFFFFFu : ~key_of(floatBitsToUint(low));
    return Span(LEVEL_KEYS, bin, 0u, first, last, 0u);
}

// Narrows the counted span to where the crossing lies. True if the cut is found: it is moved there,
// behind all that is left of the span; is_whole says that all of that is wanted.
bool narrow(inout Span span, Crossing at, bool is_whole)
{
    if (span.level == LEVEL_BINS) {
        if (is_whole) {
            tighten(at.bin, 0u, NO_ID);
            return true;
        }
        span = bin_span(at.bin);
    } else {
        uint width = (1u << span.shift) - 1u;
        span.first += min(at.bin, (span.last - span.first) >> span.shift) << span.shift;
        span.last = span.first + min(width, span.last - span.first);
        if (is_whole) {
            bool is_by_id = span.level == LEVEL_IDS;
            tighten(span.bin, is_by_id ? span.key : ~span.last, is_by_id ? span.last : NO_ID);
            return true;
        }
        if (span.first == span.last) { // one key that several share
            span = Span(LEVEL_IDS, span.bin, ~span.last, 0u, n_vocab - 1u, 0u);
        }
    }
    span.shift = uint(max(findMSB(span.last - span.first) - (BIN_BITS - 1), 0));
    return false;
}
