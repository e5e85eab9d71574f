#include "grammar/schema/schema_members.h"

#include "grammar/schema/schema_string.h"

#include <string.h>

// Returns true if a condition is the one at index `of` or a part of it, and not one that fails.
static bool is_part(const struct gi_case *one, uint32_t i, uint32_t of)
{
    for (; i != GI_NO_OWNER && i != of; i = one->conditions[i].owner) {
        if (one->conditions[i].kind == GI_FAILS) {
            return false;
        }
    }
    return i == of;
}

//-- members ---------------------------------------------------------------------------------------

// Returns whether a pattern matches a key; readers of patterns may differ (is_wide).
static bool matches(struct gi_schema_compiler *c, const struct gi_key *key, const cJSON *pattern,
                    bool is_wide)
{
    if (key->name) {
        const struct gi_dfa *dfa = gi_schema_cached_pattern(c, pattern, pattern->string, is_wide);
        return dfa ? gi_dfa_allows(dfa, key->name) : is_wide;
    }
    for (uint32_t i = 0; i < key->n_patterns; i++) {
        if (strcmp(key->patterns[i]->string, pattern->string) == 0) {
            return key->matches >> i & 1;
        }
    }
    return false;
}

// Adds the schemas of a schema's `properties` and `patternProperties` for a key, to a set that may
// be NULL; true if there is one for all readers of patterns.
static bool add_named(struct gi_schema_compiler *c, const cJSON *schema, const struct gi_key *key,
                      struct gi_schema_set *set)
{
    const cJSON *properties = gi_schema_use(c, schema, "properties");
    const cJSON *patterns = gi_schema_use(c, schema, "patternProperties");
    const cJSON *own = properties && key->name ? gi_schema_get(properties, key->name) : NULL;
    bool is_named = own != NULL;
    if (own && set) {
        gi_schema_set_add(c, set, own, false);
    }
    for (const cJSON *one = patterns ? patterns->child : NULL; one; one = one->next) {
        if (matches(c, key, one, true) && set) {
            gi_schema_set_add(c, set, one, false);
        }
        is_named = is_named || matches(c, key, one, false);
    }
    return is_named;
}

static bool is_evaluated(struct gi_schema_compiler *c, const struct gi_case *one, uint32_t of,
                         const struct gi_key *key)
{
    for (uint32_t i = 0; i < one->count; i++) {
        if (!gi_schema_holding(&one->conditions[i]) || !is_part(one, i, of)) {
            continue;
        }
        const cJSON *schema = one->conditions[i].schema;
        if (gi_schema_get(schema, "additionalProperties") ||
            (i != of && gi_schema_get(schema, "unevaluatedProperties")) ||
            add_named(c, schema, key, NULL)) {
            return true;
        }
    }
    return false;
}

void gi_schema_member_set(struct gi_schema_compiler *c, const struct gi_case *one,
                          const struct gi_key *key, struct gi_schema_set *set)
{
    for (uint32_t i = 0; i < one->count && !c->build.has_failed; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const bool is_it = key->name && condition->name && strcmp(condition->name, key->name) == 0;
        if (condition->kind == GI_BAD_MEMBER && is_it) {
            gi_schema_set_add(c, set, condition->schema, true);
        } else if (condition->kind == GI_LACKS && is_it) {
            gi_schema_set_add(c, set, &gi_schema_never, false);
        } else if (gi_schema_holding(condition)) {
            const cJSON *schema = condition->schema;
            const cJSON *rest = gi_schema_use(c, schema, "additionalProperties");
            const cJSON *others = gi_schema_use(c, schema, "unevaluatedProperties");
            if (!add_named(c, schema, key, set) && rest) {
                gi_schema_set_add(c, set, rest, false);
            }
            if (others && !one->is_plain && !is_evaluated(c, one, i, key)) {
                gi_schema_set_add(c, set, others, false);
            }
        }
    }
}

bool gi_schema_allows_name(struct gi_schema_compiler *c, const struct gi_case *one,
                           const char *name)
{
    const struct gi_dfa *names = gi_schema_names_of(c, one);
    return !names || gi_dfa_allows(names, name);
}

//-- items -----------------------------------------------------------------------------------------

// Sets *first to the list of the schemas of single items, and *rest to the schema of the items
// after them; each is NULL if the schema lacks the keyword.
static void find_items(struct gi_schema_compiler *c, const cJSON *schema, const cJSON **first,
                       const cJSON **rest)
{
    const cJSON *items = gi_schema_get(schema, "items");
    *first = gi_schema_use(c, schema, "prefixItems");
    *rest = items;
    if (cJSON_IsArray(items)) { // as older schemas have it
        *first = items;
        *rest = gi_schema_use(c, schema, "additionalItems");
    }
}

static bool is_evaluated_item(struct gi_schema_compiler *c, const struct gi_case *one, uint32_t of,
                              uint32_t item)
{
    for (uint32_t i = 0; i < one->count; i++) {
        const cJSON *first, *rest;
        if (!gi_schema_holding(&one->conditions[i]) || !is_part(one, i, of)) {
            continue;
        }
        find_items(c, one->conditions[i].schema, &first, &rest);
        if (rest || (i != of && gi_schema_get(one->conditions[i].schema, "unevaluatedItems")) ||
            (first && item < (uint32_t)cJSON_GetArraySize(first))) {
            return true;
        }
    }
    return false;
}

void gi_schema_item_set(struct gi_schema_compiler *c, const struct gi_case *one, uint32_t i,
                        struct gi_schema_set *set)
{
    for (uint32_t k = 0; k < one->count && !c->build.has_failed; k++) {
        const struct gi_condition *condition = &one->conditions[k];
        const cJSON *first, *rest;
        if (condition->kind == GI_BREAKS && strcmp(condition->item->string, "contains") == 0) {
            gi_schema_set_add(c, set, condition->item, true);
        }
        if (!gi_schema_holding(condition)) {
            continue;
        }
        find_items(c, condition->schema, &first, &rest);
        const cJSON *own = first && i <= INT32_MAX ? cJSON_GetArrayItem(first, (int)i) : NULL;
        const cJSON *others = gi_schema_use(c, condition->schema, "unevaluatedItems");
        if (own || rest) {
            gi_schema_set_add(c, set, own ? own : rest, false);
        }
        if (others && !one->is_plain && !is_evaluated_item(c, one, k, i)) {
            gi_schema_set_add(c, set, others, false);
        }
    }
}

uint32_t gi_schema_count_first(struct gi_schema_compiler *c, const struct gi_case *one)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < one->count; i++) {
        const cJSON *first, *rest;
        if (gi_schema_holding(&one->conditions[i])) {
            find_items(c, one->conditions[i].schema, &first, &rest);
            const uint32_t own = first ? (uint32_t)cJSON_GetArraySize(first) : 0;
            n = own > n ? own : n;
        }
    }
    return n;
}
