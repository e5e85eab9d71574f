// The few largest logits without a pass over all of them: the logits that a group of gemv_vocab owns are
// read only where its largest says that they matter.
//
// Where n sets of logits have a largest of at least x each, n logits are no less than x, and few more. So
// the groups' largest are folded into the largest of at least 2 n slots; the n-th largest slot is a
// threshold; what reaches it is gathered from the groups whose largest does: some 1.4 n logits. Ranks and the
// masses before each come from comparing each with each: nothing depends on the order of arrival.
//
// Needs WG_SIZE, lib/best.glsl, lib/logits.glsl, lib/mass.glsl, lib/select.glsl, whose shared memory it uses.
#define N_FEW (N_LIST / 2u)
#define N_COMPARE 16u // by an invocation at a time

shared uint n_groups_found, threshold_found;

// The first half of the list holds elements; what is in the second half changes.
#define few_slot(i) list_key[N_FEW + (i)]
#define few_group(i) list_id[N_FEW + (i)]
#define few_before_lo(i) list_key[N_FEW + (i)]
#define few_before_hi(i) list_id[N_FEW + (i)]
#define few_rank(i) bin_count[i]

// A power of two that is at least 2 n, or as many as there are invocations.
uint few_slots(uint n)
{
    return clamp(2u << uint(findMSB(2u * n - 1u)), 64u, min(uint(WG_SIZE), N_FEW));
}

// The largest n for which there can be slots enough that few more than n logits reach the n-th largest.
uint most_few()
{
    return block_rows > 0u ? min(uint(WG_SIZE) / 4u * 3u, N_FEW / 2u) : 0u;
}

// The key of a threshold that at least n logits reach; 0 if the parts are too few to say.
uint find_threshold(uint n)
{
    uint lane = gl_LocalInvocationIndex, n_slot = few_slots(n), key = 0u;
    barrier();
    for (uint i = lane; i < n_slot; i += uint(WG_SIZE)) {
        few_slot(i) = 0u;
        few_rank(i) = 0u;
    }
    for (uint i = lane; i < n_partial; i += uint(WG_SIZE)) {
        key = max(key, key_of(logits[partial + 2u * i]));
    }
    barrier();
    atomicMax(few_slot(lane % n_slot), key);
    barrier();
    for (uint i = lane; i < n_slot * (n_slot / N_COMPARE); i += uint(WG_SIZE)) {
        uint slot = i % n_slot, first = i / n_slot * N_COMPARE, rank = 0u;
        for (uint j = first; j < bound(first + N_COMPARE); j++) {
            rank += is_better(few_slot(j), j, few_slot(slot), slot) ? 1u : 0u;
        }
        atomicAdd(few_rank(slot), rank);
    }
    barrier();
    for (uint i = lane; i < n_slot; i += uint(WG_SIZE)) {
        if (few_rank(i) == n - 1u) {
            threshold_found = few_slot(i);
        }
    }
    barrier();
    return threshold_found;
}

// The groups whose largest reaches the threshold: the first row that each owns.
void find_groups(uint threshold)
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        n_groups_found = 0u;
        n_appended = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_partial; i += uint(WG_SIZE)) {
        uint id = logits[partial + 2u * i + 1u];
        if (key_of(logits[partial + 2u * i]) >= threshold && id < n_vocab) {
            uint row = id % part_rows;
            uint at = min(atomicAdd(n_groups_found, 1u), N_FEW - 1u);
            few_group(at) = id - row % block_rows + row % row_step;
        }
    }
    barrier();
}

// The logits of those groups that reach it, but stop ids if they are banned. Returns how many, more than N_FEW if
// they are not all there.
uint gather_few(uint threshold, bool has_bans)
{
    find_groups(threshold);
    uint n_row = block_rows / row_step, n_group = min(n_groups_found, N_FEW);
    uint group = gl_LocalInvocationIndex / n_row, row = gl_LocalInvocationIndex % n_row;
    while (group < n_group) {
        uint begin = few_group(group), id = begin + row * row_step;
        uint end = min(n_vocab, begin - begin % part_rows + part_rows);
        uint key = id < end ? key_of(logits[min(id, n_vocab - 1u)]) : 0u;
        if (key >= threshold && key > 0u && !(has_bans && is_stop_id(id))) {
            uint at = min(atomicAdd(n_appended, 1u), N_FEW - 1u);
            list_key[at] = key;
            list_id[at] = id;
        }
        row += uint(WG_SIZE) % n_row;
        group += uint(WG_SIZE) / n_row + (row >= n_row ? 1u : 0u);
        row -= row >= n_row ? n_row : 0u;
    }
    barrier();
    return n_groups_found <= N_FEW ? n_appended : N_FEW + 1u;
}

// Ranks n elements; with has_mass the mass of those before each too, in units of 2^-44.
void rank_few(uint n, bool has_mass)
{
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uvec2 own = has_mass ? mass_of(list_key[i]) : uvec2(0u);
        bin_mass_lo[i] = own.x;
        bin_mass_hi[i] = own.y;
        few_before_lo(i) = 0u;
        few_before_hi(i) = 0u;
        few_rank(i) = 0u;
    }
    barrier();
    uint n_chunk = (n + N_COMPARE - 1u) / N_COMPARE;
    for (uint i = gl_LocalInvocationIndex; i < n * n_chunk; i += uint(WG_SIZE)) {
        uint at = i % n, first = i / n * N_COMPARE, rank = 0u;
        uvec2 before = uvec2(0u);
        for (uint j = first; j < min(first + N_COMPARE, n); j++) {
            if (is_better(list_key[j], list_id[j], list_key[at], list_id[at])) {
                rank++;
                before = add_mass(before, uvec2(bin_mass_lo[j], bin_mass_hi[j]));
            }
        }
        atomicAdd(few_rank(at), rank);
        uint old = atomicAdd(few_before_lo(at), before.x);
        atomicAdd(few_before_hi(at), before.y + (old + before.x < old ? 1u : 0u));
    }
    barrier();
}

uvec2 few_before(uint i)
{
    return uvec2(few_before_lo(i), few_before_hi(i));
}

// The mass of the first n_first of n ranked elements.
uvec2 few_mass(uint n, uint n_first)
{
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        if (few_rank(i) == n_first - 1u) {
            uvec2 mass = add_mass(few_before(i), uvec2(bin_mass_lo[i], bin_mass_hi[i]));
            chunk_mass_lo[0] = mass.x;
            chunk_mass_hi[0] = mass.y;
        }
    }
    barrier();
    return uvec2(chunk_mass_lo[0], chunk_mass_hi[0]);
}
