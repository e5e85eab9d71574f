#include "grammar/schema/schema_array.h"

#include "base/array.h"
#include "grammar/schema/schema_members.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HITS = 3, MAX_STATES = 20000, MAX_KINDS = 300, MAX_FREE_KINDS = 10 };

// A schema that some of the items have to satisfy.
struct hit {
    struct gi_schema_member member;
    uint32_t least, most; // items; UINT32_MAX: any number
    uint32_t last;        // counts from here on are alike
};

struct list {
    struct gi_schema_writer *writer;
    const struct gi_case *one;
    struct {
        struct gi_schema_set *data; // of the first items
        size_t count, capacity;
    } first;
    struct gi_schema_set rest;
    bool has_rest, is_unique, is_dead;
    uint32_t least, most;
    struct hit hits[MAX_HITS];
    uint32_t n_hits;
};

static bool is_never(const struct gi_schema_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (cJSON_IsFalse(set->data[i].schema) && !set->data[i].fails) {
            return true;
        }
    }
    return false;
}

//-- what is asked for -----------------------------------------------------------------------------

static void add_hit(struct list *list, const cJSON *schema, bool fails, uint32_t least,
                    uint32_t most)
{
    if (least == 0 && most == UINT32_MAX) {
        return;
    }
    if (list->n_hits == MAX_HITS) {
        gi_schema_refuse(list->writer, "more than %d schemas of 'contains' are not supported",
                         MAX_HITS);
        return;
    }
    list->hits[list->n_hits++] =
        (struct hit){{schema, fails}, least, most, most == UINT32_MAX ? least : most};
}

static void read_holding(struct list *list, const cJSON *schema)
{
    struct gi_schema_writer *writer = list->writer;
    const cJSON *contains = gi_schema_use(writer, schema, "contains");
    const cJSON *unique = gi_schema_use(writer, schema, "uniqueItems");
    const cJSON *items = gi_schema_get(schema, "items");
    const uint32_t least = gi_schema_count(writer, gi_schema_get(schema, "minItems"), 0);
    const uint32_t most = gi_schema_count(writer, gi_schema_get(schema, "maxItems"), UINT32_MAX);
    list->least = least > list->least ? least : list->least;
    list->most = most < list->most ? most : list->most;
    list->is_unique |= cJSON_IsTrue(unique);
    list->has_rest |= (items && !cJSON_IsArray(items)) || gi_schema_get(schema, "additionalItems");
    writer->place = schema;
    if (contains) {
        add_hit(list, contains, false,
                gi_schema_count(writer, gi_schema_get(schema, "minContains"), 1),
                gi_schema_count(writer, gi_schema_get(schema, "maxContains"), UINT32_MAX));
    }
}

static void read_breaking(struct list *list, const cJSON *schema, const cJSON *item)
{
    const char *name = item->string;
    if (strcmp(name, "minItems") == 0) {
        const uint32_t count = gi_schema_count(list->writer, item, UINT32_MAX);
        list->is_dead |= count == 0;
        list->most = count > 0 && count - 1 < list->most ? count - 1 : list->most;
    } else if (strcmp(name, "maxItems") == 0) {
        const uint32_t count = gi_schema_count(list->writer, item, UINT32_MAX - 1);
        list->least = count + 1 > list->least ? count + 1 : list->least;
    } else if (strcmp(name, "items") == 0) {
        if (cJSON_IsArray(item) || gi_schema_get(schema, "prefixItems")) {
            list->is_dead = true; // some item after the first ones: not written
        } else {
            add_hit(list, item, true, 1, UINT32_MAX);
        }
    } else if (strcmp(name, "contains") == 0 &&
               (gi_schema_get(schema, "minContains") || gi_schema_get(schema, "maxContains"))) {
        list->is_dead = true;
    }
}

static void read_items(struct list *list)
{
    struct gi_schema_writer *writer = list->writer;
    const uint32_t n = gi_schema_count_first(writer, list->one);
    for (uint32_t i = 0; i < n && i < list->most && !writer->has_failed; i++) {
        struct gi_schema_set set = {0};
        gi_schema_item_set(writer, list->one, i, &set);
        if (is_never(&set)) {
            list->most = i;
            free(set.data);
        } else if (!GI_ARRAY_PUSH(&list->first, "a schema", writer->err, set)) {
            writer->has_failed = true;
            free(set.data);
        }
    }
    gi_schema_item_set(writer, list->one, UINT32_MAX, &list->rest);
    list->has_rest |= n == 0 || list->least > n || list->n_hits > 0;
    if (!list->has_rest || is_never(&list->rest)) {
        list->most = list->first.count < list->most ? (uint32_t)list->first.count : list->most;
    }
    const uint32_t first = (uint32_t)list->first.count;
    list->least = first > list->least ? first : list->least; // all that are named are written
    if (list->least > list->most) {
        gi_schema_note_dead(writer, "'minItems' asks for more items than there may be");
        list->is_dead = true;
    }
    if (list->least > GI_SCHEMA_MAX_COUNT) {
        gi_schema_refuse(writer, "'minItems' above %d is not supported", GI_SCHEMA_MAX_COUNT);
        list->least = GI_SCHEMA_MAX_COUNT;
    }
    if (list->most != UINT32_MAX && list->most > GI_SCHEMA_MAX_COUNT) {
        list->most = GI_SCHEMA_MAX_COUNT;
    }
}

//-- items one after another -----------------------------------------------------------------------

static uint32_t write_plain(struct list *list)
{
    struct gi_schema_writer *writer = list->writer;
    const uint32_t n = (uint32_t)list->first.count;
    const uint32_t rest = list->most > n ? gi_schema_rule_of(writer, &list->rest) : 0;
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= \"[\" ws", rule);
    for (uint32_t i = 0; i < n; i++) {
        gi_schema_write(writer, "%s v%u ws", i > 0 ? " \",\" ws" : "",
                        gi_schema_rule_of(writer, &list->first.data[i]));
    }
    if (rest) {
        const uint32_t before = n > 0 ? n : 1;
        const uint32_t least = list->least > before ? list->least - before : 0;
        if (n == 0) {
            gi_schema_write(writer, " (v%u ws", rest);
        }
        gi_schema_write(writer, " (\",\" ws v%u ws){%u,", rest, least);
        if (list->most != UINT32_MAX) {
            gi_schema_write(writer, "%u", list->most - before);
        }
        gi_schema_write(writer, "}%s%s", n == 0 ? ")" : "", n == 0 && list->least == 0 ? "?" : "");
    }
    gi_schema_write(writer, " \"]\"\n");
    return rule;
}

//-- contains --------------------------------------------------------------------------------------

// Writes an item that counts for the hits of `bits` and no other that has an upper bound.
static uint32_t rule_of_hits(struct list *list, uint32_t i, uint32_t bits)
{
    const struct gi_schema_set *base = i < list->first.count ? &list->first.data[i] : &list->rest;
    struct gi_schema_set set = {0};
    for (size_t k = 0; k < base->count; k++) {
        gi_schema_set_add(list->writer, &set, base->data[k].schema, base->data[k].fails);
    }
    for (uint32_t k = 0; k < list->n_hits; k++) {
        const struct hit *hit = &list->hits[k];
        if (bits >> k & 1 || hit->most != UINT32_MAX) {
            gi_schema_set_add(list->writer, &set, hit->member.schema,
                              hit->member.fails != !(bits >> k & 1));
        }
    }
    const uint32_t rule = gi_schema_rule_of(list->writer, &set);
    free(set.data);
    return rule;
}

// Counts of a state: of items first, then of each hit.
static void split_state(const struct list *list, uint32_t state, uint32_t width, uint32_t *n,
                        uint32_t *counts)
{
    *n = state % width;
    state /= width;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        counts[k] = state % (list->hits[k].last + 1);
        state /= list->hits[k].last + 1;
    }
}

// Sets *next to the state after an item that counts for the hits of `bits`; false if there are too
// many then.
static bool find_next(const struct list *list, uint32_t width, uint32_t n, const uint32_t *counts,
                      uint32_t bits, uint32_t *next)
{
    uint32_t unit = width;
    *next = n + 1 < width ? n + 1 : n;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        const struct hit *hit = &list->hits[k];
        uint32_t count = counts[k];
        if (bits >> k & 1) {
            if (count == hit->most) {
                return false;
            }
            count += count < hit->last;
        }
        *next += count * unit;
        unit *= hit->last + 1;
    }
    return true;
}

static void write_state(struct list *list, uint32_t first, uint32_t state, uint32_t width)
{
    struct gi_schema_writer *writer = list->writer;
    uint32_t n, counts[MAX_HITS] = {0}, next;
    uint32_t rules[1 << MAX_HITS], states[1 << MAX_HITS], n_items = 0;
    const char *between = "";
    split_state(list, state, width, &n, counts);
    for (uint32_t bits = 0; n < list->most && bits < 1u << list->n_hits; bits++) {
        if (find_next(list, width, n, counts, bits, &next)) {
            rules[n_items] = rule_of_hits(list, n, bits);
            states[n_items++] = next;
        }
    }
    bool may_end = n >= list->least;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        may_end = may_end && counts[k] >= list->hits[k].least;
    }
    gi_schema_write(writer, "v%u ::= ", first + state);
    if (may_end) {
        gi_schema_write(writer, "\"]\"");
        between = " | ";
    }
    for (uint32_t i = 0; i < n_items; i++) {
        gi_schema_write(writer, "%s%sv%u ws v%u", between, n > 0 ? "\",\" ws " : "", rules[i],
                        first + states[i]);
        between = " | ";
    }
    gi_schema_write(writer, "%s\n", *between ? "" : "never");
}

static uint32_t write_hits(struct list *list)
{
    struct gi_schema_writer *writer = list->writer;
    uint64_t n_states = 1;
    uint32_t n = (uint32_t)list->first.count, most = 100;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        const struct hit *hit = &list->hits[k];
        n_states *= hit->last < MAX_STATES ? hit->last + 1 : MAX_STATES;
        n_states = n_states > MAX_STATES ? MAX_STATES : n_states;
        most = hit->least > most ? hit->least : most;
    }
    n = list->least > n ? list->least : n;
    n = n > 0 ? n : 1;
    if (list->most != UINT32_MAX) { // fewer than there may be, if those are many
        most = n > most ? n : most;
        list->most = list->most < most ? list->most : most;
        n = list->most > n ? list->most : n;
    }
    if (n_states * (n + 1) > MAX_STATES) {
        gi_schema_refuse(writer, "the counts of 'contains' and of items are too large here");
        list->n_hits = 0;
        return write_plain(list);
    }
    const uint32_t first = writer->n_rules + 1, count = (uint32_t)n_states * (n + 1);
    for (uint32_t i = 0; i < count; i++) {
        gi_schema_new_rule(writer);
    }
    for (uint32_t i = 0; i < count && !writer->has_failed; i++) {
        write_state(list, first, i, n + 1);
    }
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= \"[\" ws v%u\n", rule, first);
    return rule;
}

//-- unique items ----------------------------------------------------------------------------------

// Writes arrays of some of few kinds in any order: a rule for each set of kinds that were used.
static uint32_t write_any_order(struct list *list, const uint32_t *kinds, uint32_t n)
{
    struct gi_schema_writer *writer = list->writer;
    const uint32_t first = writer->n_rules + 1;
    for (uint32_t used = 0; used < 1u << n; used++) {
        gi_schema_new_rule(writer);
    }
    for (uint32_t used = 0; used < 1u << n && !writer->has_failed; used++) {
        const uint32_t count = (uint32_t)__builtin_popcount(used);
        const char *between = "";
        if (count > list->most) {
            continue; // nothing leads there
        }
        gi_schema_write(writer, "v%u ::= ", first + used);
        if (count >= list->least) {
            gi_schema_write(writer, "\"]\"");
            between = " | ";
        }
        for (uint32_t i = 0; i < n && count < list->most; i++) {
            if (!(used >> i & 1)) {
                gi_schema_write(writer, "%s%sv%u ws v%u", between, used ? "\",\" ws " : "",
                                kinds[i], first + (used | 1u << i));
                between = " | ";
            }
        }
        gi_schema_write(writer, "%s\n", *between ? "" : "never");
    }
    return first;
}

// Writes arrays of some of many kinds, in the order of the schema.
static uint32_t write_in_order(struct list *list, const uint32_t *kinds, uint32_t n)
{
    struct gi_schema_writer *writer = list->writer;
    const uint32_t most = list->most < n ? list->most : n, first = writer->n_rules + 1;
    if ((n + 1) * (most + 1) > MAX_STATES) {
        gi_schema_refuse(writer, "'uniqueItems' of %u values is not supported", n);
        return first;
    }
    for (uint32_t i = 0; i < (n + 1) * (most + 1); i++) {
        gi_schema_new_rule(writer);
    }
    for (uint32_t i = 0; i <= n && !writer->has_failed; i++) {
        for (uint32_t count = 0; count <= most && count <= i; count++) {
            const uint32_t next = first + (i + 1) * (most + 1) + count;
            const char *between = "";
            gi_schema_write(writer, "v%u ::= ", first + i * (most + 1) + count);
            if (i == n) {
                gi_schema_write(writer, count >= list->least ? "\"]\"\n" : "never\n");
                continue;
            }
            if (count < most) {
                gi_schema_write(writer, "%sv%u ws v%u", count ? "\",\" ws " : "", kinds[i],
                                next + 1);
                between = " | ";
            }
            gi_schema_write(writer, "%sv%u\n", between, next);
        }
    }
    return first;
}

static uint32_t write_unique(struct list *list)
{
    struct gi_schema_writer *writer = list->writer;
    uint32_t kinds[MAX_KINDS];
    if (list->first.count > 0 || list->n_hits > 0) {
        gi_schema_refuse(writer, "'uniqueItems' beside 'prefixItems' or 'contains' is not "
                                 "supported");
        return list->n_hits > 0 ? write_hits(list) : write_plain(list);
    }
    const uint32_t n = (uint32_t)gi_schema_distinct_items(writer, &list->rest, kinds, MAX_KINDS);
    if (n == 0) {
        return write_plain(list); // nothing is left but []; or it was refused
    }
    if (list->least > n) {
        gi_schema_refuse(writer, "'minItems' of more than %u beside 'uniqueItems' is not supported",
                         n);
        list->least = n;
    }
    const uint32_t first =
        n <= MAX_FREE_KINDS ? write_any_order(list, kinds, n) : write_in_order(list, kinds, n);
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= \"[\" ws v%u\n", rule, first);
    return rule;
}

uint32_t gi_schema_write_array(struct gi_schema_writer *writer, const struct gi_case *one)
{
    struct list list = {.writer = writer, .one = one, .most = UINT32_MAX};
    uint32_t rule = GI_SCHEMA_NO_RULE;
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        if (condition->kind == GI_HOLDS && cJSON_IsObject(condition->schema)) {
            read_holding(&list, condition->schema);
        } else if (condition->kind == GI_BREAKS) {
            read_breaking(&list, condition->schema, condition->item);
        }
    }
    if (!list.is_dead) {
        read_items(&list);
    }
    if (!list.is_dead && !writer->has_failed) {
        rule = list.is_unique && list.most > 1 ? write_unique(&list)
               : list.n_hits > 0               ? write_hits(&list)
                                               : write_plain(&list);
    }
    for (size_t i = 0; i < list.first.count; i++) {
        free(list.first.data[i].data);
    }
    free(list.first.data);
    free(list.rest.data);
    return rule;
}
