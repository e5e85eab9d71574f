#include "grammar/schema/schema_set.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_pattern.h"
#include "grammar/schema/schema_string.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETS = 50000 };

static const char purpose[] = "a schema";

const cJSON gi_schema_never = {.type = cJSON_False};

//-- keywords --------------------------------------------------------------------------------------

enum form {
    IS_SCHEMA,
    IS_SCHEMAS,
    IS_MAP,
    IS_NAMES,
    IS_LIST,
    IS_NUMBER,
    IS_STRING,
    IS_TYPE,
    IS_BOOL
};

static const struct {
    const char *name;
    enum form form;
} keywords[] = {
    {"type", IS_TYPE},
    {"enum", IS_LIST},
    {"anyOf", IS_SCHEMAS},
    {"oneOf", IS_SCHEMAS},
    {"allOf", IS_SCHEMAS},
    {"not", IS_SCHEMA},
    {"if", IS_SCHEMA},
    {"then", IS_SCHEMA},
    {"else", IS_SCHEMA},
    {"properties", IS_MAP},
    {"patternProperties", IS_MAP},
    {"dependentSchemas", IS_MAP},
    {"dependentRequired", IS_MAP},
    {"dependencies", IS_MAP},
    {"required", IS_NAMES},
    {"additionalProperties", IS_SCHEMA},
    {"propertyNames", IS_SCHEMA},
    {"unevaluatedProperties", IS_SCHEMA},
    {"unevaluatedItems", IS_SCHEMA},
    {"contains", IS_SCHEMA},
    {"additionalItems", IS_SCHEMA},
    {"prefixItems", IS_LIST},
    {"pattern", IS_STRING},
    {"format", IS_STRING},
    {"minimum", IS_NUMBER},
    {"maximum", IS_NUMBER},
    {"multipleOf", IS_NUMBER},
    {"uniqueItems", IS_BOOL},
};

static bool is_schema(const cJSON *item)
{
    return cJSON_IsObject(item) || cJSON_IsBool(item);
}

static bool has_form(const cJSON *item, enum form form)
{
    switch (form) {
    case IS_SCHEMA:
        return is_schema(item);
    case IS_MAP:
        return cJSON_IsObject(item);
    case IS_NUMBER:
        return gi_schema_is_number(item);
    case IS_STRING:
        return cJSON_IsString(item);
    case IS_TYPE:
        return cJSON_IsString(item) || cJSON_IsArray(item);
    case IS_BOOL:
        return cJSON_IsBool(item);
    default:
        break;
    }
    bool fits = cJSON_IsArray(item) && (form != IS_SCHEMAS || item->child);
    for (const cJSON *one = fits && form != IS_LIST ? item->child : NULL; one; one = one->next) {
        fits = fits && (form == IS_NAMES ? cJSON_IsString(one) : is_schema(one));
    }
    return fits;
}

const cJSON *gi_schema_use(struct gi_schema_compiler *c, const cJSON *schema, const char *keyword)
{
    static const char *const names[] = {
        "a schema: an object, true or false",
        "a list of schemas",
        "an object",
        "a list of names",
        "a list",
        "a number",
        "a text",
        "a type or a list of types",
        "true or false",
    };
    const cJSON *item = gi_schema_get(schema, keyword);
    for (size_t i = 0; item && i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (strcmp(keyword, keywords[i].name) == 0 && !has_form(item, keywords[i].form)) {
            c->place = schema;
            gi_schema_refuse(c, "'%s' is not %s", keyword, names[keywords[i].form]);
            return NULL;
        }
    }
    return item;
}

int gi_schema_types_of(struct gi_schema_compiler *c, const cJSON *type)
{
    static const struct {
        const char *name;
        int types;
    } names[] = {{"string", GI_IS_STRING}, {"integer", GI_IS_WHOLE}, {"number", GI_IS_NUMBER},
                 {"object", GI_IS_OBJECT}, {"array", GI_IS_ARRAY},   {"boolean", GI_IS_BOOLEAN},
                 {"null", GI_IS_NULL}};
    const bool is_list = cJSON_IsArray(type);
    int types = 0;
    for (const cJSON *item = is_list ? type->child : type; item;
         item = is_list ? item->next : NULL) {
        const int before = types;
        bool is_known = false;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (cJSON_IsString(item) && strcmp(item->valuestring, names[i].name) == 0) {
                types |= names[i].types;
                is_known = true;
            }
        }
        if (!is_known) {
            c->place = item;
            gi_schema_refuse(c, "'type' \"%.100s\" is not a type of JSON",
                             cJSON_IsString(item) ? item->valuestring : "");
            types = before | GI_IS_ANY;
        }
    }
    if (!types) {
        c->place = type;
        gi_schema_refuse(c, "'type' is an empty list");
        return GI_IS_ANY;
    }
    return types;
}

int gi_schema_asked_types(const struct gi_case *one)
{
    static const struct {
        const char *names;
        int types;
    } asked[] = {
        {" minLength maxLength pattern format ", GI_IS_STRING},
        {" minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ", GI_IS_NUMBER},
        {" items prefixItems additionalItems minItems maxItems uniqueItems contains "
         "unevaluatedItems ",
         GI_IS_ARRAY},
        {" properties required additionalProperties patternProperties propertyNames "
         "minProperties maxProperties unevaluatedProperties ",
         GI_IS_OBJECT},
    };
    int types = 0;
    for (uint32_t i = 0; i < one->count && one->types == GI_IS_ANY; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *item = condition->kind == GI_HOLDS ? condition->schema->child : NULL;
        types |= condition->name ? GI_IS_OBJECT : 0;
        for (; item; item = item->next) {
            char word[64];
            snprintf(word, sizeof(word), " %.60s ", item->string ? item->string : "");
            for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
                types |= strstr(asked[k].names, word) ? asked[k].types : 0;
            }
        }
    }
    return types ? one->types & types : one->types;
}

// Keywords that only describe, to readers or other tools.
static bool is_note(const char *keyword)
{
    static const char *const notes[] = {
        "title",     "description", "default", "examples", "example", "deprecated", "readOnly",
        "writeOnly", "$comment",    "$schema", "$id",      "$defs",   "definitions"};
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        if (strcmp(keyword, notes[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool gi_schema_is_any(const cJSON *schema)
{
    if (!cJSON_IsObject(schema)) {
        return cJSON_IsTrue(schema);
    }
    for (const cJSON *item = schema->child; item; item = item->next) {
        if (!is_note(item->string)) {
            return false;
        }
    }
    return true;
}

//-- sets ------------------------------------------------------------------------------------------

void gi_schema_set_add(struct gi_schema_compiler *c, struct gi_schema_set *set, const cJSON *schema,
                       bool fails)
{
    const struct gi_schema_member member = {schema, fails};
    if (c->build.has_failed) {
        return;
    }
    if (!is_schema(schema)) {
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

static int compare_members(const void *a, const void *b)
{
    const struct gi_schema_member *left = a, *right = b;
    const uintptr_t l = (uintptr_t)left->schema, r = (uintptr_t)right->schema;
    return l != r ? (l > r) - (l < r) : (int)left->fails - (int)right->fails;
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
