#include "grammar/schema/schema_set.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "grammar/schema/schema_pattern.h"
#include "grammar/schema/schema_string.h"

#include <stdlib.h>

enum { MAX_SETS = 50000 };

static const char purpose[] = "a schema";

const cJSON gi_schema_never = {.type = cJSON_False};

struct gi_span gi_schema_span(struct gi_schema_compiler *c, const struct gi_case *one,
                              const char *least, const char *most)
{
    struct gi_span span = {0, UINT32_MAX};
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *schema = gi_schema_holding(condition);
        const char *broken = condition->kind == GI_BREAKS ? condition->item->string : "";
        struct gi_span own = {gi_schema_count(c, gi_schema_get(schema, least), 0),
                              gi_schema_count(c, gi_schema_get(schema, most), UINT32_MAX)};
        if (strcmp(broken, least) == 0) {
            const uint32_t count = gi_schema_count(c, condition->item, UINT32_MAX);
            own.least = count == 0; // which is never broken
            own.most = count == UINT32_MAX ? count : count > 0 ? count - 1 : 0;
        } else if (strcmp(broken, most) == 0) {
            const uint32_t count = gi_schema_count(c, condition->item, UINT32_MAX);
            own.least = count == UINT32_MAX ? count : count + 1;
        }
        span.least = own.least > span.least ? own.least : span.least;
        span.most = own.most < span.most ? own.most : span.most;
    }
    return span;
}

int gi_schema_asked_types(const struct gi_case *one)
{
    int types = 0;
    for (uint32_t i = 0; i < one->count && one->types == GI_IS_ANY; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *item = condition->kind == GI_HOLDS ? condition->schema->child : NULL;
        types |= condition->name ? GI_IS_OBJECT : 0;
        for (; item; item = item->next) {
            const struct gi_keyword *keyword = gi_schema_keyword(item->string);
            types |= keyword && keyword->types != GI_IS_ANY ? keyword->types : 0;
        }
    }
    return types ? one->types & types : one->types;
}

//-- sets ------------------------------------------------------------------------------------------

void gi_schema_set_add(struct gi_schema_compiler *c, struct gi_schema_set *set, const cJSON *schema,
                       bool fails)
{
    const struct gi_schema_member member = {schema, fails};
    if (c->build.has_failed) {
        return;
    }
    if (!gi_schema_is_schema(schema)) {
        c->place = schema;
        gi_schema_refuse(c, "a schema must be an object, true or false");
        return;
    }
    if (!fails && gi_schema_is_any(schema)) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        if (set->data[i].schema == schema && set->data[i].fails == fails) {
            return;
        }
    }
    GI_SCHEMA_PUSH(c, set, member);
}

bool gi_schema_is_never(const struct gi_schema_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (cJSON_IsFalse(set->data[i].schema) && !set->data[i].fails) {
            return true;
        }
    }
    return false;
}

struct known_set {
    struct gi_schema_set set;
    uint32_t rule;
};

struct gi_schema_memo {
    struct {
        struct known_set *data;
        size_t count, capacity;
    } sets;
    size_t n_taken;        // of sets: their rules were built
    struct gi_index index; // of sets
    struct {
        struct known_pattern {
            const char *pattern; // borrowed, the key
            const struct gi_dfa *dfa;
            bool is_wide;
        } * data;
        size_t count, capacity;
    } patterns;
    struct {
        struct built {
            const struct gi_dfa *dfa;
            uint32_t node;
        } * data;
        size_t count, capacity;
    } built; // automata of strings
};

void gi_schema_memo_destroy(struct gi_schema_memo *memo)
{
    if (!memo) {
        return;
    }
    for (size_t i = 0; i < memo->sets.count; i++) {
        free(memo->sets.data[i].set.data);
    }
    free(memo->sets.data);
    gi_index_finish(&memo->index);
    free(memo->patterns.data);
    free(memo->built.data);
    free(memo);
}

void gi_schema_memo_reset(struct gi_schema_compiler *c)
{
    gi_schema_memo_destroy(c->memo);
    c->memo = gi_schema_zeroed(c, 1, sizeof(*c->memo));
}

// Sorts members by their place in the document.
static int compare_members(const void *a, const void *b)
{
    const struct gi_schema_member *left = a, *right = b;
    const int order = left->schema->valueint - right->schema->valueint;
    return order ? order : (int)left->fails - (int)right->fails;
}

static struct gi_hash hash_set(const struct gi_schema_set *set)
{
    struct gi_hash hash;
    gi_hash_init(&hash);
    for (size_t i = 0; i < set->count; i++) {
        const uintptr_t member[2] = {(uintptr_t)set->data[i].schema, set->data[i].fails};
        gi_hash_add(&hash, member, sizeof(member));
    }
    return hash;
}

static bool is_same(const struct gi_schema_set *a, const struct gi_schema_set *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++) {
        if (compare_members(&a->data[i], &b->data[i]) != 0) {
            return false;
        }
    }
    return a->count == b->count;
}

uint32_t gi_schema_rule_of(struct gi_schema_compiler *c, const struct gi_schema_set *set)
{
    struct gi_schema_memo *memo = c->memo;
    if (c->build.has_failed) {
        return 0;
    }
    struct known_set made = {.set = {0}};
    for (size_t i = 0; i < set->count; i++) {
        gi_schema_set_add(c, &made.set, set->data[i].schema, set->data[i].fails);
    }
    if (made.set.count > 1) {
        qsort(made.set.data, made.set.count, sizeof(*made.set.data), compare_members);
    }
    const uint32_t hash = (uint32_t)hash_set(&made.set).lo;
    uint32_t step = 0, found;
    while ((found = gi_index_next(&memo->index, hash, &step)) != GI_INDEX_END) {
        if (is_same(&memo->sets.data[found].set, &made.set)) {
            free(made.set.data);
            return memo->sets.data[found].rule;
        }
    }
    made.rule = gi_build_rule(&c->build, GI_BUILD_END);
    if (memo->sets.count == MAX_SETS) {
        gi_schema_stop(c, "the combinations of schemas for one value exceed %d", MAX_SETS);
    }
    if (c->build.has_failed ||
        !gi_index_add(&memo->index, hash, (uint32_t)memo->sets.count, purpose, c->build.err) ||
        !GI_ARRAY_PUSH(&memo->sets, purpose, c->build.err, made)) {
        c->build.has_failed = true;
        free(made.set.data);
        return 0;
    }
    return made.rule;
}

bool gi_schema_next_set(struct gi_schema_compiler *c, struct gi_schema_set *set, uint32_t *rule)
{
    struct gi_schema_memo *memo = c->memo;
    if (c->build.has_failed || memo->n_taken == memo->sets.count) {
        return false;
    }
    *set = memo->sets.data[memo->n_taken].set;
    *rule = memo->sets.data[memo->n_taken++].rule;
    return true;
}

const struct gi_dfa *gi_schema_cached_pattern(struct gi_schema_compiler *c, const cJSON *item,
                                              const char *pattern, bool is_wide)
{
    struct gi_schema_memo *memo = c->memo;
    for (size_t i = 0; i < memo->patterns.count; i++) {
        if (memo->patterns.data[i].pattern == pattern &&
            memo->patterns.data[i].is_wide == is_wide) {
            return memo->patterns.data[i].dfa;
        }
    }
    c->place = item;
    const struct gi_dfa *dfa = gi_schema_pattern(c, pattern, is_wide);
    GI_SCHEMA_PUSH(c, &memo->patterns, (struct known_pattern){pattern, dfa, is_wide});
    return dfa;
}

uint32_t gi_schema_node_of_dfa(struct gi_schema_compiler *c, const struct gi_dfa *dfa)
{
    struct gi_schema_memo *memo = c->memo;
    for (size_t i = 0; i < memo->built.count; i++) {
        if (memo->built.data[i].dfa == dfa) {
            return memo->built.data[i].node;
        }
    }
    const uint32_t node = gi_schema_build_dfa(c, dfa, true, GI_BUILD_END);
    GI_SCHEMA_PUSH(c, &memo->built, (struct built){dfa, node});
    return node;
}
