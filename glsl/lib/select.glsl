// Exact selection of the largest logits by number or by mass, without sorting.
//
// Elements are ordered by (bin, key, id): the bin of their distance below the maximum, linear and
// so fine where it matters; the logit's bits as a key, larger first; the id, lower first. A `cut`
// is a place in that order: what comes up to it survives. select_* moves it forward by histograms:
// of bins, then of ever finer ranges of keys inside the crossing bin, then, for equal keys, of
// ranges of ids. Sums are integers, so nothing depends on the order of the atomics.
//
// Elements come from the logits or, once gathered, from a list in shared memory. Needs WG_SIZE,
// lib/best.glsl, lib/exp_log.glsl, lib/logits.glsl, lib/step.glsl; uses 14.4 KiB of shared memory.
#define N_BIN 512u
#define BINS_PER_UNIT 16.0
#define N_LIST 1024u
#define N_CHUNK 32u
#define CHUNK_BINS (N_BIN / N_CHUNK)
#define NO_ID 0xFFFFFFFFu

// Masses exp(logit - max) are sums in units of 2^-44: (low word, high word).
shared uint bin_count[N_BIN], bin_mass_lo[N_BIN], bin_mass_hi[N_BIN];
shared uint chunk_count[N_CHUNK], chunk_mass_lo[N_CHUNK], chunk_mass_hi[N_CHUNK];
shared uint list_key[N_LIST], list_id[N_LIST];
shared uint list_size;

// Equal in all invocations.
float max_logit;
uint n_element;     // of the source
bool is_listed;     // the source is the list
bool has_bans;      // stop ids are left out
uint cut_bin = N_BIN - 1u, cut_key = 0u, cut_id = NO_ID;

//-- elements --------------------------------------------------------------------------------------

// Elements 4i to 4i + 3; those past the end have the id NO_ID.
void load_quad(uint i, out uvec4 keys, out uvec4 ids)
{
    ids = 4u * i + uvec4(0u, 1u, 2u, 3u);
    if (is_listed) {
        for (int c = 0; c < 4; c++) {
            uint at = min(ids[c], N_LIST - 1u);
            keys[c] = list_key[at];
            ids[c] = ids[c] < n_element ? list_id[at] : NO_ID;
        }
        return;
    }
    uvec4 bits = logits[i];
    for (int c = 0; c < 4; c++) {
        keys[c] = key_of(bits[c]);
        bool is_left_out = ids[c] >= n_element || (has_bans && is_stop_id(ids[c]));
        ids[c] = is_left_out ? NO_ID : ids[c];
    }
}

uint bin_of(uint key)
{
    return uint(min((max_logit - value_of(key)) * BINS_PER_UNIT, float(N_BIN - 1u)));
}

bool is_kept(uint bin, uint key, uint id)
{
    if (bin != cut_bin) {
        return bin < cut_bin;
    }
    return key > cut_key || (key == cut_key && id <= cut_id);
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

//-- histograms ------------------------------------------------------------------------------------

uvec2 add_mass(uvec2 a, uvec2 b)
{
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 subtract_mass(uvec2 a, uvec2 b)
{
    return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}

bool is_below(uvec2 a, uvec2 b)
{
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// In units of 1.
float mass_value(uvec2 mass)
{
    return float(mass.y) * (1.0 / 4096.0) + float(mass.x) * 5.684341886080802e-14;
}

// A fraction of a mass, at least one unit, at most the mass.
uvec2 mass_share(uvec2 mass, float share)
{
    float words = float(mass.y) * share;
    float high = floor(words);
    float low = (words - high) * 4294967296.0 + float(mass.x) * share;
    float carry = floor(low * (1.0 / 4294967296.0));
    uvec2 part = uvec2(uint(min(low - carry * 4294967296.0, 4294967040.0)), uint(high + carry));
    part = part == uvec2(0u) ? uvec2(1u, 0u) : part;
    return is_below(mass, part) ? mass : part;
}

void clear_bins()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
        bin_count[i] = 0u;
        bin_mass_lo[i] = 0u;
        bin_mass_hi[i] = 0u;
    }
    barrier();
}

void count_element(uint index, uint key, bool has_mass)
{
    atomicAdd(bin_count[index], 1u);
    if (!has_mass) {
        return;
    }
    float words = exp_negative(value_of(key) - max_logit) * 4096.0;
    float high = floor(words);
    uint low = uint((words - high) * 4294967296.0);
    uint old = atomicAdd(bin_mass_lo[index], low);
    uint carry = uint(high) + (old + low < old ? 1u : 0u);
    if (carry != 0u) {
        atomicAdd(bin_mass_hi[index], carry);
    }
}

void sum_chunks()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_CHUNK; i += uint(WG_SIZE)) {
        uint count = 0u;
        uvec2 mass = uvec2(0u);
        for (uint j = i * CHUNK_BINS; j < (i + 1u) * CHUNK_BINS; j++) {
            count += bin_count[j];
            mass = add_mass(mass, uvec2(bin_mass_lo[j], bin_mass_hi[j]));
        }
        chunk_count[i] = count;
        chunk_mass_lo[i] = mass.x;
        chunk_mass_hi[i] = mass.y;
    }
    barrier();
}

// Counts the elements up to the cut by bin.
void count_bins(bool has_mass)
{
    clear_bins();
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_element; i += uint(WG_SIZE)) {
        uvec4 keys, ids;
        load_quad(i, keys, ids);
        for (int c = 0; c < 4; c++) {
            uint bin = bin_of(keys[c]);
            if (ids[c] != NO_ID && is_kept(bin, keys[c], ids[c])) {
                count_element(bin, keys[c], has_mass);
            }
        }
    }
    sum_chunks();
}

// A part of a bin: elements whose place is in [first, last]. The place is the key upside down or,
// among elements that share a key, the id.
struct Span {
    uint bin, key;
    bool is_by_id;
    uint first, last, shift;
};

// Counts the elements up to the cut by (place - first) >> shift.
void count_span(Span span, bool has_mass)
{
    clear_bins();
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_element; i += uint(WG_SIZE)) {
        uvec4 keys, ids;
        load_quad(i, keys, ids);
        for (int c = 0; c < 4; c++) {
            uint key = keys[c];
            uint place = span.is_by_id ? ids[c] : ~key;
            if (ids[c] != NO_ID && place >= span.first && place <= span.last &&
                (span.is_by_id ? key == span.key : bin_of(key) == span.bin) &&
                is_kept(span.bin, key, ids[c])) {
                count_element((place - span.first) >> span.shift, key, has_mass);
            }
        }
    }
    sum_chunks();
}

uvec2 total_mass()
{
    uvec2 mass = uvec2(0u);
    for (uint i = 0u; i < N_CHUNK; i++) {
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

// The goal is a mass, or a number of elements in its low word. At least one element is counted, and
// the goal is at most all there is.
Crossing find_crossing(bool is_by_mass, uvec2 goal)
{
    Crossing at = Crossing(0u, 0u, 0u, goal);
    for (uint i = 0u; i < N_CHUNK; i++) {
        uvec2 weight = is_by_mass ? uvec2(chunk_mass_lo[i], chunk_mass_hi[i])
                                  : uvec2(chunk_count[i], 0u);
        if (!is_below(weight, at.rest)) {
            break;
        }
        at.rest = subtract_mass(at.rest, weight);
        at.before += chunk_count[i];
        at.bin += CHUNK_BINS;
    }
    for (uint i = 0u; i < CHUNK_BINS && at.bin < N_BIN; i++) {
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

//-- selection -------------------------------------------------------------------------------------

// Keys that the elements of a bin may have, a little more to be sure of the rounding.
Span bin_span(uint bin)
{
    float distance = float(bin + 1u) / BINS_PER_UNIT;
    float slack = (abs(max_logit) + distance) * 2.4e-7 + 1e-30;
    float high = max_logit - float(bin) / BINS_PER_UNIT + slack;
    float low = max_logit - distance - slack;
    uint first = ~key_of(floatBitsToUint(high));
    uint last = bin == N_BIN - 1u ? 0xFFFFFFFFu : ~key_of(floatBitsToUint(low));
    return Span(bin, 0u, false, first, last, 0u);
}

// Narrows the span to the place where the goal is reached: true if what it holds is to be kept
// whole, false if it is one place that several elements share.
bool narrow(inout Span span, bool is_by_mass, inout uvec2 goal)
{
    for (int i = 0; i < 5; i++) { // 32 bits, 9 at a time
        span.shift = 0u;
        while (((span.last - span.first) >> span.shift) >= N_BIN) {
            span.shift++;
        }
        count_span(span, is_by_mass);
        Crossing at = find_crossing(is_by_mass, goal);
        uint width = (1u << span.shift) - 1u;
        span.first += min(at.bin, (span.last - span.first) >> span.shift) << span.shift;
        span.last = span.first + min(width, span.last - span.first);
        goal = at.rest;
        if (at.count <= 1u || (!is_by_mass && at.count == goal.x)) {
            return true;
        }
        if (span.first == span.last) {
            return false;
        }
    }
    return true;
}

// Moves the cut to where the bins just counted reach the goal.
void select_counted(bool is_by_mass, uvec2 goal)
{
    Crossing at = find_crossing(is_by_mass, goal);
    if (at.count <= 1u || (!is_by_mass && at.count == at.rest.x)) {
        tighten(at.bin, 0u, NO_ID);
        return;
    }
    Span span = bin_span(at.bin);
    goal = at.rest;
    if (narrow(span, is_by_mass, goal)) {
        tighten(at.bin, ~span.last, NO_ID);
        return;
    }
    span = Span(at.bin, ~span.last, true, 0u, n_vocab - 1u, 0u);
    narrow(span, is_by_mass, goal);
    tighten(at.bin, span.key, span.last);
}

// Makes the elements of the bins up to last_bin, size of them, the source.
void gather_list(uint last_bin, uint size)
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        list_size = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_element; i += uint(WG_SIZE)) {
        uvec4 keys, ids;
        load_quad(i, keys, ids);
        for (int c = 0; c < 4; c++) {
            if (ids[c] != NO_ID && bin_of(keys[c]) <= last_bin) {
                uint at = min(atomicAdd(list_size, 1u), N_LIST - 1u);
                list_key[at] = keys[c];
                list_id[at] = ids[c];
            }
        }
    }
    barrier();
    n_element = size;
    is_listed = true;
}
