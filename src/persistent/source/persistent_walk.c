#include "persistent/persistent_executor.h"
#include "persistent/source/persistent_private.h"

#include <string.h>

#define MAX_PERIOD  32 // entries that a walk repeats
#define MAX_WRITTEN 40 // entries that it has in its text
#define MAX_TAGS    8  // TAG_BITS of glsl/persistent/grid_barrier.glsl
#define MAX_LEAD    6  // edges that a group may be ahead of others: fewer than tags

static const struct gi_dispatch *entry_at(const struct gi_persistent_maker *m, uint32_t entry)
{
    return gi_dispatch_table_at(m->table, entry);
}

// Returns true if a stage takes the last groups, since all its entries work beside others; other
// stages take the first.
static bool takes_last_groups(const struct gi_persistent_maker *m, uint32_t stage)
{
    bool is = true;
    for (uint32_t entry = 0; is && entry < m->n_entries; entry++) {
        is = m->stage_of[entry] != stage || entry_at(m, entry)->works_beside;
    }
    return is;
}

//-- calls -----------------------------------------------------------------------------------------

// Grid of a stage: which groups there are.
static void write_grid(const struct gi_persistent_maker *m, uint32_t index)
{
    const struct gi_grid *grid = &m->stages[index].first->grid;
    fputs("    stage_n_groups = uvec3(", m->out);
    for (uint32_t i = 0; i < 3; i++) {
        const char *comma = i < 2 ? ", " : ");\n";
        if (grid->rule == GI_GRID_FIXED || i != grid->axis) {
            fprintf(m->out, "%uu%s", grid->size[i], comma);
        } else {
            const bool is_keys = grid->rule == GI_GRID_KEYS;
            const bool is_bounded = is_keys && !grid->is_whole && grid->size[i] > 0;
            const uint32_t most = is_bounded ? grid->size[i] : UINT32_MAX;
            fprintf(m->out, "min((%s + %uu) / %uu, %uu)%s",
                    is_keys ? "KEYS_NOW" : "step_now.n_tokens", grid->divisor - 1, grid->divisor,
                    most, comma);
        }
    }
}

static void write_calls_beside(const struct gi_persistent_maker *m, uint32_t index)
{
    fprintf(m->out, "void begin_s%u()\n{\n}\nvoid all_s%u()\n{\n", index, index);
    write_grid(m, index);
    fprintf(m->out, "    STAGE_GROUPS_BESIDE(run_s%u(), PREFETCH_s%u())\n}\n", index, index);
}

// begin<suffix>() is what can be done of an entry before its barrier, all<suffix>()
// the rest.
static void write_calls(const struct gi_persistent_maker *m, uint32_t index)
{
    fprintf(m->out, "void begin_s%u()\n{\n", index);
    write_grid(m, index);
    fprintf(m->out,
            "    place_group(gl_WorkGroupID.x);\n"
            "    PREFETCH_s%u();\n}\n"
            "void all_s%u()\n{\n",
            index, index);
    write_grid(m, index);
    fprintf(m->out, "    STAGE_GROUPS(run_s%u(), PREFETCH_s%u())\n}\n", index, index);
}

//-- edges -----------------------------------------------------------------------------------------

// Returns true if an entry needs what entries since the last barrier write.
static bool has_barrier(const struct gi_persistent_maker *m, uint32_t entry)
{
    return gi_dispatch_table_barrier(m->table, entry) != 0;
}

// Returns true if a new tag precedes an entry.
static bool has_edge(const struct gi_persistent_maker *m, uint32_t entry)
{
    return has_barrier(m, entry) && !m->is_joined[entry];
}

static const struct gi_range *range_of(const struct gi_persistent_maker *m, uint32_t entry,
                                       uint32_t binding)
{
    return &entry_at(m, entry)->bindings[binding];
}

static bool is_same_range(const struct gi_range *a, const struct gi_range *b)
{
    return a->buffer == b->buffer && a->offset == b->offset;
}

// Returns true if the same invocations own the same elements of binding 0 in two entries.
static bool has_same_owners(const struct gi_persistent_maker *m, uint32_t a, uint32_t b)
{
    const struct gi_dispatch *first = entry_at(m, a), *second = entry_at(m, b);
    return first->grid.rule == GI_GRID_FIXED && second->grid.rule == GI_GRID_FIXED &&
           memcmp(first->grid.size, second->grid.size, sizeof(first->grid.size)) == 0 &&
           memcmp(&first->owners, &second->owners, sizeof(first->owners)) == 0;
}

// Returns true if a barrier precedes an entry; valid before the entry that is being walked.
static bool waits(const struct gi_persistent_maker *m, uint32_t entry)
{
    return has_edge(m, entry) && !m->is_consumed[entry];
}

// Groups that work for an entry; UINT32_MAX if they vary.
static uint32_t count_groups(const struct gi_persistent_maker *m, uint32_t entry)
{
    const struct gi_grid *grid = &entry_at(m, entry)->grid;
    return grid->rule == GI_GRID_FIXED ? grid->size[0] * grid->size[1] * grid->size[2] : UINT32_MAX;
}

// Returns true if all groups that work for an entry have consumed something for an earlier one.
// Where keys have ranges those of one range alone may do so.
static bool have_consumed(const struct gi_persistent_maker *m, uint32_t earlier, uint32_t entry)
{
    const bool is_whole =
        entry_at(m, earlier)->n_split == 0 || m->stage_of[earlier] == m->stage_of[entry];
    const bool has_same_end =
        takes_last_groups(m, m->stage_of[earlier]) == takes_last_groups(m, m->stage_of[entry]);
    return m->is_consumed[earlier] && is_whole && has_same_end &&
           count_groups(m, earlier) != UINT32_MAX &&
           count_groups(m, earlier) >= count_groups(m, entry);
}

// Counts the edges since all workgroups of an entry, not the first, last waited for others: idle
// workgroups may lead by this number.
static uint32_t count_lead(const struct gi_persistent_maker *m, uint32_t entry)
{
    uint32_t n = 0;
    for (uint32_t i = entry; i-- > 0;) {
        n += has_edge(m, i + 1);
        if (waits(m, i) || have_consumed(m, i, entry)) {
            break;
        }
    }
    return n;
}

// Returns the largest lead of the entries that consume what an entry publishes.
static uint32_t count_lead_after(const struct gi_persistent_maker *m, uint32_t entry)
{
    uint32_t most = 0;
    for (uint32_t i = entry + 1; i < m->n_entries && (i == entry + 1 || m->is_joined[i]); i++) {
        const uint32_t n = count_lead(m, i);
        most = n > most ? n : most;
    }
    return most;
}

// Returns true if the residual, which an entry reads in its own binding 0, is there: its
// invocations wrote it themselves, or there was a barrier since. An entry that works beside another
// adds to nothing.
static bool owns_what_it_adds_to(const struct gi_persistent_maker *m, uint32_t entry)
{
    for (uint32_t i = entry_at(m, entry)->works_beside ? 0 : entry; i-- > 0;) {
        if (i + 1 < entry && waits(m, i + 1)) {
            return true;
        }
        if (is_same_range(range_of(m, i, 0), range_of(m, entry, 0))) {
            return has_same_owners(m, i, entry);
        }
    }
    return true;
}

// Returns true if an entry can consume all that the one before it publishes, without a barrier.
// Nothing is written over before it was read then: who writes has consumed results of all who read,
// or a barrier lies between.
static bool can_consume(const struct gi_persistent_maker *m, uint32_t entry)
{
    return entry > 0 && has_barrier(m, entry) && entry_at(m, entry)->consumes &&
           entry_at(m, entry - 1)->publishes == GI_PUBLISH_ALL &&
           is_same_range(range_of(m, entry - 1, 0), range_of(m, entry, 1)) &&
           owns_what_it_adds_to(m, entry) && count_lead(m, entry) <= MAX_LEAD;
}

// Returns true if an entry needs no barrier after the one before it, which works beside it: what
// that reads in its binding 1 the entry reads in its own, and what that publishes it consumes.
static bool can_join(const struct gi_persistent_maker *m, uint32_t entry)
{
    if (entry < 2 || !has_barrier(m, entry) || !entry_at(m, entry - 1)->works_beside ||
        entry_at(m, entry - 1)->publishes != GI_PUBLISH_ALL) {
        return false;
    }
    const bool has_same_x = is_same_range(range_of(m, entry - 1, 1), range_of(m, entry, 1)) &&
                            entry_at(m, entry)->consumes && owns_what_it_adds_to(m, entry) &&
                            count_lead(m, entry) <= MAX_LEAD;
    return waits(m, entry - 1) || (m->is_consumed[entry - 1] && has_same_x);
}

// Edges from the writer of an entry's binding 0 that is `back` entries before it to the entry, in a
// walk of steps one after another; UINT32_MAX if that writes something else.
static uint32_t count_edges(const struct gi_persistent_maker *m, uint32_t entry, uint32_t back)
{
    const uint32_t writer = (entry + m->n_entries - back) % m->n_entries;
    uint32_t n = 0, i = writer;
    if (entry_at(m, writer)->publishes == GI_PUBLISH_NONE ||
        !is_same_range(range_of(m, writer, 0), range_of(m, entry, 0))) {
        return UINT32_MAX;
    }
    do {
        i = (i + 1) % m->n_entries;
        n += i == 0 || has_edge(m, i);
    } while (i != entry);
    return n;
}

// Returns true if n_tag different tags distinguish the values that an entry publishes from all
// earlier values that a leading workgroup may find in their place.
static bool is_unambiguous(const struct gi_persistent_maker *m, uint32_t entry, uint32_t n_tag)
{
    const uint32_t count = m->n_entries;
    const uint32_t n_lead = count_lead_after(m, entry);
    for (uint32_t back = 1; back <= count; back++) {
        const uint32_t n_edge = count_edges(m, entry, back);
        if (n_edge == UINT32_MAX || n_edge == 0) { // of another part of the same weight
            continue;
        }
        if (n_edge % n_tag == 0) {
            return false;
        }
        const uint32_t writer = (entry + count - back) % count;
        if (entry_at(m, writer)->publishes == GI_PUBLISH_ALL &&
            range_of(m, writer, 0)->size >= range_of(m, entry, 0)->size &&
            (n_edge >= n_lead || n_lead > MAX_LEAD)) {
            return true;
        }
    }
    return true;
}

uint32_t gi_persistent_choose_tags(const struct gi_persistent_maker *m)
{
    for (uint32_t n_tag = MAX_TAGS; n_tag >= 3; n_tag--) {
        bool is_good = true;
        for (uint32_t entry = 0; is_good && entry < m->n_entries; entry++) {
            is_good =
                entry_at(m, entry)->publishes == GI_PUBLISH_NONE || is_unambiguous(m, entry, n_tag);
        }
        if (is_good) {
            return n_tag;
        }
    }
    return 0;
}

// A group of a stage leaves what it tells another where the stage was at work the last time: no
// other may have been there since, nor the same with other bounds.
bool gi_persistent_can_tell(const struct gi_persistent_maker *m)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t entry = 0; entry < m->n_entries; entry++) {
        if (entry_at(m, entry)->n_split == 0) {
            continue;
        }
        first = first == UINT32_MAX ? entry : first;
        if (m->stage_of[entry] != m->stage_of[first] ||
            entry_at(m, entry)->window != entry_at(m, first)->window) {
            return false;
        }
    }
    return m->n_tag > 0;
}

//-- walk ------------------------------------------------------------------------------------------

// Part of a table that comes n_times one after another.
struct period {
    uint32_t begin, size, n_times;
};

static bool is_same_edge(const struct gi_persistent_maker *m, uint32_t a, uint32_t b)
{
    return has_barrier(m, a) == has_barrier(m, b) && m->is_joined[a] == m->is_joined[b] &&
           (m->is_joined[a] || m->is_consumed[a] == m->is_consumed[b]);
}

// The period that leaves fewest entries to be written.
static struct period find_period(const struct gi_persistent_maker *m)
{
    const uint32_t count = m->n_entries;
    struct period best = {0, count, 1};
    uint32_t n_saved = 0;
    for (uint32_t size = 1; size <= MAX_PERIOD; size++) {
        for (uint32_t begin = 0, end; begin + size < count; begin = end + 1) {
            // The edge before the first entry is written separately.
            for (end = begin; end + size < count && m->stage_of[end] == m->stage_of[end + size] &&
                              (end == begin || is_same_edge(m, end, end + size));) {
                end++;
            }
            const uint32_t n_times = (end - begin) / size + 1;
            if ((n_times - 1) * size > n_saved) {
                n_saved = (n_times - 1) * size;
                best = (struct period){begin, size, n_times};
            }
        }
    }
    return best;
}

// Returns true if a walk repeats a period, so that its text is short enough.
static bool is_straight(const struct gi_persistent_maker *m, const struct period *period)
{
    return period->n_times > 1 &&
           m->n_entries - period->size * (period->n_times - 1) <= MAX_WRITTEN;
}

void gi_persistent_find_consumed(struct gi_persistent_maker *m)
{
    for (uint32_t entry = 0; entry < m->n_entries; entry++) {
        m->is_joined[entry] = can_join(m, entry);
        m->is_consumed[entry] =
            m->is_joined[entry] ? m->is_consumed[entry - 1] : can_consume(m, entry);
    }
    const struct period period = find_period(m);
    if (!is_straight(m, &period)) { // each barrier of a switched walk is an edge
        for (uint32_t entry = 0; entry < m->n_entries; entry++) {
            m->is_consumed[entry] = m->is_consumed[entry] && !m->is_joined[entry];
            m->is_joined[entry] = false;
        }
    }
}

// Writes the beginning of an entry, between the two halves of the barrier before it.
static void write_next(const struct gi_persistent_maker *m, uint32_t entry)
{
    static const char *const halves[][2] = {{"grid_arrive", "grid_wait"},
                                            {"grid_release", "grid_acquire"},
                                            {"grid_leave", "grid_join"}};
    const char *const *half = halves[m->n_tag == 0           ? 0
                                     : m->is_joined[entry]   ? 2
                                     : m->is_consumed[entry] ? 1
                                                             : 0];
    fputs("    open_entry(++entry);\n", m->out);
    if (has_barrier(m, entry)) {
        fprintf(m->out, "    %s();\n", half[0]);
    }
    fprintf(m->out, "    begin_s%u();\n", m->stage_of[entry]);
    if (has_barrier(m, entry)) {
        fprintf(m->out, "    if (!%s()) {\n        return false;\n    }\n", half[1]);
    }
}

// Writes entries begin .. end - 1 but for the first's beginning, and the beginning of entry end.
static void write_entries(const struct gi_persistent_maker *m, uint32_t begin, uint32_t end)
{
    for (uint32_t entry = begin; entry < end; entry++) {
        fprintf(m->out, "    all_s%u();\n", m->stage_of[entry]);
        if (entry + 1 < m->n_entries) {
            write_next(m, entry + 1);
        }
    }
}

static void write_straight_walk(const struct gi_persistent_maker *m, const struct period *period)
{
    const uint32_t last = period->begin + period->size - 1;
    const uint32_t end = period->begin + period->size * period->n_times;
    fprintf(m->out,
            "bool run_step()\n{\n    uint entry = 0u;\n    open_entry(0u);\n    begin_s%u();\n",
            m->stage_of[0]);
    write_entries(m, 0, period->begin);
    fputs("    for (uint i = 1u;; i++) {\n", m->out);
    write_entries(m, period->begin, last);
    fprintf(m->out, "    all_s%u();\n    if (i == %uu) {\n        break;\n    }\n",
            m->stage_of[last], period->n_times);
    write_next(m, period->begin + period->size);
    fputs("    }\n", m->out);
    if (end < m->n_entries) {
        write_next(m, end);
        write_entries(m, end, m->n_entries);
    }
    fputs("    return true;\n}\n", m->out);
}

// Writes the walk of a table without a period that is worth it: no entry begins before its barrier.
static void write_switched_walk(const struct gi_persistent_maker *m)
{
    fprintf(
        m->out,
        "bool run_step()\n{\n    for (uint entry = 0u; entry < %uu; entry++) {\n"
        "    open_entry(entry);\n    uint head = table[entry * ENTRY_QUADS].x;\n"
        "    if ((head & ENTRY_BARRIER) != 0u && !grid_barrier()) {\n        return false;\n    }\n"
        "    switch (head & 0xFFu) {\n",
        m->n_entries);
    for (uint32_t i = 0; i < m->n_stages; i++) {
        fprintf(m->out, "    case %uu:\n        begin_s%u();\n        all_s%u();\n        break;\n",
                i, i, i);
    }
    fputs("    }\n    }\n    return true;\n}\n", m->out);
}

void gi_persistent_write_walk(const struct gi_persistent_maker *m)
{
    for (uint32_t i = 0; i < m->n_stages; i++) {
        if (takes_last_groups(m, i)) {
            write_calls_beside(m, i);
        } else {
            write_calls(m, i);
        }
    }
    const struct period period = find_period(m);
    if (is_straight(m, &period)) {
        write_straight_walk(m, &period);
    } else {
        write_switched_walk(m);
    }
}
