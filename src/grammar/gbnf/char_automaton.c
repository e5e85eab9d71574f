#include "grammar/gbnf/char_automaton.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEGMENTS = 256, SURROGATES = 0xd800, SURROGATES_END = 0xe000 };

static const char purpose[] = "a grammar's characters";

void gi_char_automata_finish(struct gi_char_automata *automata)
{
    free(automata->states.data);
    free(automata->segments.data);
    gi_index_finish(&automata->index);
    memset(automata, 0, sizeof(*automata));
}

//-- ranges ----------------------------------------------------------------------------------------

static int compare_ranges(const void *a, const void *b)
{
    const struct gi_code_range *left = a, *right = b;
    return (left->lo > right->lo) - (left->lo < right->lo);
}

static size_t remove_surrogates(struct gi_code_range *ranges, size_t count)
{
    size_t n = 0;
    struct gi_code_range rest = {1, 0}; // the part of the range around them that lies above
    for (size_t i = 0; i < count; i++) {
        struct gi_code_range range = ranges[i];
        if (range.lo < SURROGATES && range.hi >= SURROGATES_END) {
            rest = (struct gi_code_range){SURROGATES_END, range.hi};
        }
        if (range.lo < SURROGATES && range.hi >= SURROGATES) {
            range.hi = SURROGATES - 1;
        } else if (range.lo >= SURROGATES && range.lo < SURROGATES_END) {
            range.lo = SURROGATES_END;
        }
        if (range.lo <= range.hi) {
            ranges[n++] = range;
        }
        if (rest.lo <= rest.hi) {
            memmove(&ranges[n + 1], &ranges[i + 1], (count - i - 1) * sizeof(*ranges));
            ranges[n] = rest;
            return n + count - i;
        }
    }
    return n;
}

size_t gi_code_ranges_normalise(struct gi_code_range *ranges, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(ranges, count, sizeof(*ranges), compare_ranges);
    size_t n = 1;
    for (size_t i = 1; i < count; i++) {
        struct gi_code_range *last = &ranges[n - 1];
        if (ranges[i].lo <= last->hi + 1) {
            last->hi = ranges[i].hi > last->hi ? ranges[i].hi : last->hi;
        } else {
            ranges[n++] = ranges[i];
        }
    }
    return remove_surrogates(ranges, n);
}

size_t gi_code_ranges_invert(const struct gi_code_range *ranges, size_t count,
                             struct gi_code_range *out)
{
    size_t n = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].lo > next) {
            out[n++] = (struct gi_code_range){next, ranges[i].lo - 1};
        }
        next = ranges[i].hi + 1;
    }
    if (next <= GI_CODE_MAX) {
        out[n++] = (struct gi_code_range){next, GI_CODE_MAX};
    }
    return n == 0 ? 0 : remove_surrogates(out, n);
}

//-- states ----------------------------------------------------------------------------------------

static uint32_t hash_segments(const struct gi_char_segment *segments, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ segments[i].lo) * 16777619u;
        hash = (hash ^ segments[i].hi) * 16777619u;
        hash = (hash ^ segments[i].target) * 16777619u;
    }
    return hash ^ hash >> 15;
}

static bool is_equal(const struct gi_char_automata *automata, uint32_t state,
                     const struct gi_char_segment *segments, size_t count)
{
    const struct gi_char_state *found = &automata->states.data[state];
    if (found->count != count) {
        return false;
    }
    const struct gi_char_segment *others = &automata->segments.data[found->first];
    for (size_t i = 0; i < count; i++) {
        if (others[i].lo != segments[i].lo || others[i].hi != segments[i].hi ||
            others[i].target != segments[i].target) {
            return false;
        }
    }
    return true;
}

// Sets *state to the one with these segments, which is made if it is not there.
static bool intern(struct gi_char_automata *automata, const struct gi_char_segment *segments,
                   size_t count, uint32_t *state, struct glinfer_error *err)
{
    if (automata->states.count == 0 &&
        !GI_ARRAY_PUSH(&automata->states, purpose, err, (struct gi_char_state){0})) {
        return false;
    }
    const uint32_t hash = hash_segments(segments, count);
    uint32_t step = 0;
    while ((*state = gi_index_next(&automata->index, hash, &step)) != GI_INDEX_END) {
        if (is_equal(automata, *state, segments, count)) {
            return true;
        }
    }
    *state = (uint32_t)automata->states.count;
    const struct gi_char_state made = {(uint32_t)automata->segments.count, (uint32_t)count};
    if (!GI_ARRAY_RESERVE(&automata->segments, made.first + count, purpose, err) ||
        !GI_ARRAY_PUSH(&automata->states, purpose, err, made) ||
        !gi_index_add(&automata->index, hash, *state, purpose, err)) {
        return false;
    }
    memcpy(&automata->segments.data[made.first], segments, count * sizeof(*segments));
    automata->segments.count += count;
    return true;
}

//-- bytes -----------------------------------------------------------------------------------------

struct segment_list {
    struct gi_char_segment data[MAX_SEGMENTS];
    size_t count;
};

static void add_segment(struct segment_list *list, uint32_t lo, uint32_t hi, uint32_t target)
{
    if (list->count > 0) {
        struct gi_char_segment *last = &list->data[list->count - 1];
        if (last->target == target && last->hi + 1u == lo) {
            last->hi = (uint8_t)hi;
            return;
        }
    }
    assert(list->count < MAX_SEGMENTS);
    list->data[list->count++] = (struct gi_char_segment){(uint8_t)lo, (uint8_t)hi, target};
}

// Ranges that touch the code points from lo to hi.
struct slice {
    const struct gi_code_range *ranges;
    size_t count;
};

static struct slice slice_of(struct slice all, uint32_t lo, uint32_t hi)
{
    while (all.count > 0 && all.ranges->hi < lo) {
        all.ranges++;
        all.count--;
    }
    size_t n = 0;
    while (n < all.count && all.ranges[n].lo <= hi) {
        n++;
    }
    all.count = n;
    return all;
}

// Sets *state to the one in which n_bytes more bytes choose among the code points from base on that
// are in ranges and not below least, at least one. Calls itself at most twice.
static bool add_rest(struct gi_char_automata *automata, struct slice ranges, uint32_t least,
                     uint32_t base, uint32_t n_bytes, uint32_t *state, struct glinfer_error *err)
{
    struct segment_list list;
    list.count = 0;
    const uint32_t span = 1u << 6 * (n_bytes - 1);
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t lo = base + i * span, hi = lo + span - 1;
        const struct slice inner = slice_of(ranges, lo, hi);
        uint32_t target = 0;
        if (inner.count == 0 || hi < least) { // a shorter form has those below
            continue;
        }
        const bool is_full = inner.ranges->lo <= lo && inner.ranges->hi >= hi;
        const struct gi_char_segment *last = list.count ? &list.data[list.count - 1] : NULL;
        if (is_full && last && last->hi == 0x80 + i - 1 && inner.ranges->lo + span <= lo) {
            target = last->target; // the one before was full too
        } else if (n_bytes > 1 &&
                   !add_rest(automata, inner, least, lo, n_bytes - 1, &target, err)) {
            return false;
        }
        add_segment(&list, 0x80 + i, 0x80 + i, target);
    }
    return intern(automata, list.data, list.count, state, err);
}

// Adds the characters whose UTF-8 begins with the bytes from first to last and has n_rest more; the
// first of them begins at code point base.
static bool add_leads(struct gi_char_automata *automata, struct slice ranges, uint32_t first,
                      uint32_t last, uint32_t base, uint32_t n_rest, struct segment_list *list,
                      struct glinfer_error *err)
{
    const uint32_t span = 1u << 6 * n_rest;
    const uint32_t shortest = n_rest == 1 ? 0x80 : n_rest == 2 ? 0x800 : 0x10000;
    for (uint32_t lead = first; lead <= last; lead++, base += span) {
        const uint32_t lo = base < shortest ? shortest : base;
        const struct slice inner = slice_of(ranges, lo, base + span - 1);
        if (inner.count == 0) {
            continue;
        }
        uint32_t target;
        if (!add_rest(automata, inner, lo, base, n_rest, &target, err)) {
            return false;
        }
        add_segment(list, lead, lead, target);
    }
    return true;
}

bool gi_char_automata_add(struct gi_char_automata *automata, const struct gi_code_range *ranges,
                          size_t count, uint32_t *state, struct glinfer_error *err)
{
    const struct slice all = {ranges, count};
    struct segment_list list;
    list.count = 0;
    assert(count > 0);
    for (size_t i = 0; i < count && ranges[i].lo < 0x80; i++) {
        add_segment(&list, ranges[i].lo, ranges[i].hi < 0x80 ? ranges[i].hi : 0x7f, 0);
    }
    const bool is_ascii = ranges[count - 1].hi < 0x80;
    return (is_ascii || (add_leads(automata, all, 0xc2, 0xdf, 0x80, 1, &list, err) &&
                         add_leads(automata, all, 0xe0, 0xef, 0, 2, &list, err) &&
                         add_leads(automata, all, 0xf0, 0xf4, 0, 3, &list, err))) &&
           intern(automata, list.data, list.count, state, err);
}

uint32_t gi_char_automata_step(const struct gi_char_automata *automata, uint32_t state,
                               uint8_t byte)
{
    const struct gi_char_segment *segments =
        &automata->segments.data[automata->states.data[state].first];
    size_t lo = 0, hi = automata->states.data[state].count;
    while (lo < hi) { // the first segment that ends at the byte or above
        const size_t middle = (lo + hi) / 2;
        if (segments[middle].hi < byte) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo < automata->states.data[state].count && segments[lo].lo <= byte ? segments[lo].target
                                                                              : GI_CHAR_REFUSED;
}
