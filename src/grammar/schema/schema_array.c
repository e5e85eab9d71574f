#include "grammar/schema/schema_array.h"

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
    struct gi_schema_compiler *c;
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
    uint32_t close; // the node of the bracket at the end
};

//-- what is asked for -----------------------------------------------------------------------------

static void add_hit(struct list *list, const cJSON *schema, bool fails, uint32_t least,
                    uint32_t most)
{
    if (least == 0 && most == UINT32_MAX) {
        return;
    }
    if (list->n_hits == MAX_HITS) {
        gi_schema_refuse(list->c, "more than %d schemas of 'contains' are not supported", MAX_HITS);
        return;
    }
    const uint32_t last = most == UINT32_MAX ? least : most;
    list->hits[list->n_hits++] = (struct hit){
        {schema, fails}, least, most, last < MAX_STATES ? last : MAX_STATES}; // more is refused
}

static void read_holding(struct list *list, const cJSON *schema)
{
    struct gi_schema_compiler *c = list->c;
    const cJSON *contains = gi_schema_use(c, schema, "contains");
    const cJSON *unique = gi_schema_use(c, schema, "uniqueItems");
    const cJSON *items = gi_schema_get(schema, "items");
    list->is_unique |= cJSON_IsTrue(unique);
    list->has_rest |= (items && !cJSON_IsArray(items)) || gi_schema_get(schema, "additionalItems");
    c->place = schema;
    if (contains) {
        add_hit(list, contains, false, gi_schema_count(c, gi_schema_get(schema, "minContains"), 1),
                gi_schema_count(c, gi_schema_get(schema, "maxContains"), UINT32_MAX));
    }
}

static void read_breaking(struct list *list, const cJSON *schema, const cJSON *item)
{
    const char *name = item->string;
    if (strcmp(name, "items") == 0) {
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
    struct gi_schema_compiler *c = list->c;
    const uint32_t n = gi_schema_count_first(c, list->one);
    for (uint32_t i = 0; i < n && i < list->most && !c->build.has_failed; i++) {
        struct gi_schema_set set = {0};
        gi_schema_item_set(c, list->one, i, &set);
        if (gi_schema_is_never(&set)) {
            list->most = i;
            free(set.data);
        } else if (!GI_SCHEMA_PUSH(c, &list->first, set)) {
            free(set.data);
        }
    }
    gi_schema_item_set(c, list->one, UINT32_MAX, &list->rest);
    list->has_rest |= n == 0 || list->least > n || list->n_hits > 0;
    if (!list->has_rest || gi_schema_is_never(&list->rest)) {
        list->most = list->first.count < list->most ? (uint32_t)list->first.count : list->most;
    }
    const uint32_t first = (uint32_t)list->first.count;
    list->least = first > list->least ? first : list->least; // all that are named are written
    if (list->least > list->most) {
        gi_schema_note_dead(c, "'minItems' exceeds the number of allowed items");
        list->is_dead = true;
    }
    if (list->least > GI_SCHEMA_MAX_COUNT) {
        gi_schema_refuse(c, "'minItems' above %d is not supported", GI_SCHEMA_MAX_COUNT);
        list->least = GI_SCHEMA_MAX_COUNT;
    }
    if (list->most != UINT32_MAX && list->most > GI_SCHEMA_MAX_COUNT) {
        list->most = GI_SCHEMA_MAX_COUNT;
    }
}

//-- items one after another -----------------------------------------------------------------------

static uint32_t build_plain(struct list *list)
{
    struct gi_schema_compiler *c = list->c;
    struct gi_builder *build = &c->build;
    const uint32_t n = (uint32_t)list->first.count;
    const uint32_t rest = list->most > n ? gi_schema_rule_of(c, &list->rest) : 0;
    uint32_t node = list->close;
    for (uint32_t i = 0; i < n; i++) { // in their order, for the first failure
        gi_schema_rule_of(c, &list->first.data[i]);
    }
    if (list->most > n) {
        const uint32_t before = n > 0 ? n : 1;
        const uint32_t least = list->least > before ? list->least - before : 0;
        const uint32_t most = list->most == UINT32_MAX ? GI_BUILD_ENDLESS : list->most - before;
        const uint32_t more = gi_build_rule(
            build, gi_schema_build_comma(c, gi_schema_build_value(c, rest, GI_BUILD_END)));
        node = gi_build_repeat(build, GI_NODE_CALL, more, least, most, list->close);
        if (n == 0) {
            node = gi_schema_build_value(c, rest, node);
            node = list->least == 0 ? gi_build_either(build, node, list->close) : node;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t rule = gi_schema_rule_of(c, &list->first.data[i]);
        node = gi_schema_build_value(c, rule, node);
        node = i > 0 ? gi_schema_build_comma(c, node) : node;
    }
    return node;
}

//-- contains --------------------------------------------------------------------------------------

// Returns the rule of an item that counts for the hits of `bits` and no other that has an upper
// bound.
static uint32_t rule_of_hits(struct list *list, uint32_t i, uint32_t bits)
{
    const struct gi_schema_set *base = i < list->first.count ? &list->first.data[i] : &list->rest;
    struct gi_schema_set set = {0};
    for (size_t k = 0; k < base->count; k++) {
        gi_schema_set_add(list->c, &set, base->data[k].schema, base->data[k].fails);
    }
    for (uint32_t k = 0; k < list->n_hits; k++) {
        const struct hit *hit = &list->hits[k];
        if (bits >> k & 1 || hit->most != UINT32_MAX) {
            gi_schema_set_add(list->c, &set, hit->member.schema,
                              hit->member.fails != !(bits >> k & 1));
        }
    }
    const uint32_t rule = gi_schema_rule_of(list->c, &set);
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

// Builds an item and a comma before it unless it is the first.
static uint32_t build_item(struct list *list, bool is_first, uint32_t rule, uint32_t next)
{
    const uint32_t item = gi_schema_build_value(list->c, rule, next);
    return is_first ? item : gi_schema_build_comma(list->c, item);
}

static void build_state(struct list *list, uint32_t first, uint32_t state, uint32_t width)
{
    struct gi_builder *build = &list->c->build;
    uint32_t n, counts[MAX_HITS] = {0}, next;
    split_state(list, state, width, &n, counts);
    bool may_end = n >= list->least;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        may_end = may_end && counts[k] >= list->hits[k].least;
    }
    uint32_t node = may_end ? list->close : GI_BUILD_NOTHING;
    for (uint32_t bits = 0; n < list->most && bits < 1u << list->n_hits; bits++) {
        if (find_next(list, width, n, counts, bits, &next)) {
            const uint32_t rule = rule_of_hits(list, n, bits);
            node = gi_build_either(build, node, build_item(list, n == 0, rule, first + next));
        }
    }
    gi_build_lead(build, first + state, node);
}

static uint32_t build_hits(struct list *list)
{
    struct gi_schema_compiler *c = list->c;
    uint64_t n_states = 1;
    uint32_t n = (uint32_t)list->first.count, most = 100;
    for (uint32_t k = 0; k < list->n_hits; k++) {
        const struct hit *hit = &list->hits[k];
        n_states *= hit->last + 1;
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
        gi_schema_refuse(c, "the counts of 'contains' and of items are too large here");
        list->n_hits = 0;
        return build_plain(list);
    }
    const uint32_t count = (uint32_t)n_states * (n + 1);
    const uint32_t first = gi_build_joins(&c->build, count);
    for (uint32_t i = 0; i < count && !c->build.has_failed; i++) {
        build_state(list, first, i, n + 1);
    }
    return first;
}

//-- unique items ----------------------------------------------------------------------------------

// Builds arrays of some of few kinds in any order: a state for each set of kinds that were used.
static uint32_t build_any_order(struct list *list, const uint32_t *kinds, uint32_t n)
{
    struct gi_builder *build = &list->c->build;
    const uint32_t first = gi_build_joins(build, (size_t)1 << n);
    for (uint32_t used = 0; used < 1u << n && !build->has_failed; used++) {
        const uint32_t count = (uint32_t)__builtin_popcount(used);
        uint32_t node = count >= list->least ? list->close : GI_BUILD_NOTHING;
        for (uint32_t i = 0; i < n && count < list->most; i++) {
            if (!(used >> i & 1)) {
                const uint32_t next = first + (used | 1u << i);
                node = gi_build_either(build, node, build_item(list, !used, kinds[i], next));
            }
        }
        gi_build_lead(build, first + used, node);
    }
    return first;
}

// Builds arrays of some of many kinds, in the order of the schema.
static uint32_t build_in_order(struct list *list, const uint32_t *kinds, uint32_t n)
{
    struct gi_builder *build = &list->c->build;
    const uint32_t most = list->most < n ? list->most : n;
    if ((n + 1) * (most + 1) > MAX_STATES) {
        gi_schema_refuse(list->c, "'uniqueItems' of %u values is not supported", n);
        return GI_BUILD_NOTHING;
    }
    const uint32_t first = gi_build_joins(build, (size_t)(n + 1) * (most + 1));
    for (uint32_t i = 0; i <= n && !build->has_failed; i++) {
        for (uint32_t count = 0; count <= most && count <= i; count++) {
            const uint32_t state = first + i * (most + 1) + count, next = state + most + 1;
            uint32_t node = i < n ? next : count >= list->least ? list->close : GI_BUILD_NOTHING;
            if (i < n && count < most) {
                node =
                    gi_build_either(build, build_item(list, count == 0, kinds[i], next + 1), node);
            }
            gi_build_lead(build, state, node);
        }
    }
    return first;
}

static uint32_t build_unique(struct list *list)
{
    struct gi_schema_compiler *c = list->c;
    uint32_t kinds[MAX_KINDS];
    if (list->first.count > 0 || list->n_hits > 0) {
        gi_schema_refuse(c, "'uniqueItems' beside 'prefixItems' or 'contains' is not supported");
        return list->n_hits > 0 ? build_hits(list) : build_plain(list);
    }
    const uint32_t n = (uint32_t)gi_schema_distinct_items(c, &list->rest, kinds, MAX_KINDS);
    if (n == 0) {
        return build_plain(list); // nothing is left but []; or it was refused
    }
    if (list->least > n) {
        gi_schema_refuse(c, "'minItems' of more than %u beside 'uniqueItems' is not supported", n);
        list->least = n;
    }
    return n <= MAX_FREE_KINDS ? build_any_order(list, kinds, n) : build_in_order(list, kinds, n);
}

uint32_t gi_schema_build_array(struct gi_schema_compiler *c, const struct gi_case *one)
{
    const struct gi_span span = gi_schema_span(c, one, "minItems", "maxItems");
    struct list list = {.c = c, .one = one, .least = span.least, .most = span.most};
    if (span.least > span.most) {
        gi_schema_note_dead(c, "'minItems' exceeds the number of allowed items");
        return GI_BUILD_NOTHING;
    }
    uint32_t first = GI_BUILD_NOTHING;
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        if (gi_schema_holding(condition)) {
            read_holding(&list, condition->schema);
        } else if (condition->kind == GI_BREAKS) {
            read_breaking(&list, condition->schema, condition->item);
        }
    }
    if (!list.is_dead) {
        read_items(&list);
    }
    if (!list.is_dead && !c->build.has_failed) {
        list.close = gi_schema_build_text(c, "]", GI_BUILD_END);
        first = list.is_unique && list.most > 1 ? build_unique(&list)
                : list.n_hits > 0               ? build_hits(&list)
                                                : build_plain(&list);
        first = gi_schema_build_text(c, "[", gi_schema_build_shared(c, GI_RULE_WS, first));
    }
    for (size_t i = 0; i < list.first.count; i++) {
        free(list.first.data[i].data);
    }
    free(list.first.data);
    free(list.rest.data);
    return first;
}
