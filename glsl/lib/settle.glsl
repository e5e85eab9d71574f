// The cut inside a listed cell: lib/many.glsl. A list that did not hold the cell stands for nothing: then all
// logits are looked through for what is in it.
uint n_element;
bool is_listed;

uvec2 read_element(uint i)
{
    uint at = list_at + HEAD + 2u * min(i, LIST_ROOM - 1u);
    return is_listed ? uvec2(logits[at], logits[at + 1u]) : uvec2(key_of(logits[i]), i);
}

// Whether an element of the list, or of all logits, is one that the cut leaves.
bool is_left(uvec2 element)
{
    return is_kept(bin_of(element.x), element.x, element.y) && (is_listed || is_allowed(element.y));
}

// Moves the cut to where it lies in the list.
void settle_cut(bool is_by_mass, bool is_sound)
{
    Span span = cell_span(logits[list_at + 1u], logits[list_at + 2u], logits[list_at + 3u]);
    uvec2 goal = uvec2(logits[list_at + 4u], logits[list_at + 5u]);
    uint n_listed = logits[list_at];
    bool is_found = !is_sound;
    is_listed = n_listed <= LIST_ROOM;
    n_element = !is_sound ? 0u : is_listed ? n_listed : n_vocab;
    for (uint round = 0u; round < bound(16u) && !is_found; round++) { // the same in all invocations
        clear_bins();
        for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
            uvec2 element = read_element(i);
            if (is_listed || is_allowed(element.y)) {
                count_element(span, bin_of(element.x), element.x, element.y, is_by_mass);
            }
        }
        sum_chunks();
        Crossing at = find_crossing(is_by_mass, goal);
        goal = at.rest;
        is_found = narrow(span, at, at.count <= 1u || (!is_by_mass && at.count == goal.x));
    }
}
