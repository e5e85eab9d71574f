#include "grammar/schema/schema_visit.h"

#include "grammar/schema/schema_array.h"
#include "grammar/schema/schema_object.h"
#include "grammar/schema/schema_refs.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_set.h"
#include "grammar/schema/schema_string.h"
#include "grammar/schema/schema_value.h"

#include <stdlib.h>
#include <string.h>

// The values of which one has to be, as a choice of nodes.
struct choice {
    struct gi_schema_compiler *c;
    uint32_t first; // GI_BUILD_NOTHING: no value so far
};

static void add(struct choice *choice, uint32_t first)
{
    choice->first = gi_build_either(&choice->c->build, choice->first, first);
}

static const cJSON plain[] = {{.type = cJSON_True}, {.type = cJSON_False}, {.type = cJSON_NULL}};

//-- cases -----------------------------------------------------------------------------------------

static void add_constants(struct choice *choice, const struct gi_case *one, const cJSON *item)
{
    bool is_any = false;
    for (const cJSON *value = gi_schema_first_value(item); value;
         value = gi_schema_next_value(item, value)) {
        if (gi_schema_allows(choice->c, one, value)) {
            add(choice, gi_schema_build_constant(choice->c, value));
            is_any = true;
        }
    }
    if (!is_any) {
        choice->c->place = item;
        gi_schema_note_dead(choice->c, "no value of '%s' satisfies the other keywords",
                            item->string);
    }
}

// Returns the types of lists and objects that a case excludes by a constant: these are left out as
// a whole.
static int excluded_types(const struct gi_case *one)
{
    int types = 0;
    for (uint32_t i = 0; i < one->count; i++) {
        const cJSON *item = one->conditions[i].kind == GI_BREAKS ? one->conditions[i].item : NULL;
        if (!item || (strcmp(item->string, "enum") != 0 && strcmp(item->string, "const") != 0)) {
            continue;
        }
        for (const cJSON *value = gi_schema_first_value(item); value;
             value = gi_schema_next_value(item, value)) {
            types |= cJSON_IsObject(value) ? GI_IS_OBJECT : 0;
            types |= cJSON_IsArray(value) ? GI_IS_ARRAY : 0;
        }
    }
    return types;
}

static void add_case(struct choice *choice, struct gi_case one)
{
    struct gi_schema_compiler *c = choice->c;
    const cJSON *place = c->place;
    const cJSON *constants = gi_schema_constants_of(c, &one);
    if (constants) {
        add_constants(choice, &one, constants);
        return;
    }
    one.types = gi_schema_asked_types(&one) & ~excluded_types(&one);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (gi_schema_allows(c, &one, &plain[i])) {
            add(choice, gi_schema_build_constant(c, &plain[i]));
        }
    }
    c->place = place;
    if (one.types & GI_IS_STRING) {
        add(choice, gi_schema_build_strings(c, &one));
    }
    c->place = place;
    if (one.types & GI_IS_NUMBER) {
        add(choice, gi_schema_build_numbers(c, &one));
    }
    c->place = place;
    if (one.types & GI_IS_OBJECT) {
        add(choice, gi_schema_build_object(c, &one));
    }
    c->place = place;
    if (one.types & GI_IS_ARRAY) {
        add(choice, gi_schema_build_array(c, &one));
    }
}

//-- sets ------------------------------------------------------------------------------------------

// Returns the only keyword that a set has, of the one schema in it that asks for something; NULL if
// there are several.
static const cJSON *only_keyword(const struct gi_schema_set *set)
{
    const cJSON *found = NULL;
    if (set->count != 1 || set->data[0].fails || !cJSON_IsObject(set->data[0].schema)) {
        return NULL;
    }
    for (const cJSON *item = set->data[0].schema->child; item; item = item->next) {
        const struct gi_keyword *keyword = gi_schema_keyword(item->string);
        const bool is_note = keyword && keyword->negation == GI_NEGATION_NOTE;
        if (!is_note && found) {
            return NULL;
        }
        found = is_note ? found : item;
    }
    return found;
}

// Adds the rules of the schemas that a set of only `anyOf` or `$ref` leads to, which others may
// share. False if the set is more than that.
static bool add_shared(struct choice *choice, const struct gi_schema_set *set)
{
    struct gi_schema_compiler *c = choice->c;
    const cJSON *item = c->has_cycle ? NULL : only_keyword(set);
    const bool is_ref = item && strcmp(item->string, "$ref") == 0;
    if (!item || (!is_ref && (strcmp(item->string, "anyOf") != 0 || !cJSON_IsArray(item)))) {
        return false;
    }
    const cJSON *target = is_ref ? gi_schema_find_target(c, set->data[0].schema, item) : NULL;
    for (const cJSON *one = is_ref ? target : item->child; one; one = is_ref ? NULL : one->next) {
        struct gi_schema_set other = {0};
        gi_schema_set_add(c, &other, one, false);
        add(choice, gi_build_call(&c->build, gi_schema_rule_of(c, &other), GI_BUILD_END));
        free(other.data);
    }
    return choice->first != GI_BUILD_NOTHING;
}

static void add_cases(struct choice *choice, const struct gi_schema_set *set)
{
    struct gi_schema_compiler *c = choice->c;
    struct gi_cases cases = {0};
    const cJSON *place = set->data[0].schema;
    c->has_cycle = false;
    gi_schema_expand(c, set, &cases);
    if (cases.count == 0 || !add_shared(choice, set)) {
        for (size_t i = 0; i < cases.count && !c->build.has_failed; i++) {
            c->place = place;
            add_case(choice, cases.data[i]);
        }
    }
    c->place = place;
    if (choice->first == GI_BUILD_NOTHING && cases.is_partial) {
        gi_schema_refuse(c, "cannot express the values that 'not', or overlapping schemas of "
                            "'oneOf', leave here");
    }
    gi_schema_cases_finish(&cases);
}

// Adds all values of the types that the schemas of a set name: nothing satisfies the rest of it.
static void add_types(struct choice *choice, const struct gi_schema_set *set)
{
    static const struct {
        int types;
        enum gi_schema_rule rule;
    } rules[] = {
        {GI_IS_OBJECT, GI_RULE_OBJECT}, {GI_IS_ARRAY, GI_RULE_ARRAY},
        {GI_IS_STRING, GI_RULE_STRING}, {GI_IS_BROKEN, GI_RULE_NUMBER},
        {GI_IS_WHOLE, GI_RULE_INTEGER},
    };
    struct gi_schema_compiler *c = choice->c;
    int types = GI_IS_ANY;
    for (size_t i = 0; i < set->count; i++) {
        const cJSON *type = set->data[i].fails || !cJSON_IsObject(set->data[i].schema)
                                ? NULL
                                : gi_schema_use(c, set->data[i].schema, "type");
        types &= type ? gi_schema_types_of(c, type) : GI_IS_ANY;
    }
    types = types ? types : GI_IS_ANY;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (types & rules[i].types) {
            add(choice, gi_schema_build_shared(c, rules[i].rule, GI_BUILD_END));
        }
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (types & (cJSON_IsNull(&plain[i]) ? GI_IS_NULL : GI_IS_BOOLEAN)) {
            add(choice, gi_schema_build_constant(c, &plain[i]));
        }
    }
}

static void build_set(struct gi_schema_compiler *c, const struct gi_schema_set *set, uint32_t rule)
{
    struct choice choice = {.c = c, .first = GI_BUILD_NOTHING};
    if (set->count == 0) {
        add(&choice, gi_schema_build_shared(c, GI_RULE_VALUE, GI_BUILD_END));
    } else {
        add_cases(&choice, set);
    }
    if (choice.first == GI_BUILD_NOTHING && c->is_lenient) {
        add_types(&choice, set);
    }
    gi_build_set_rule(&c->build, rule, choice.first);
}

uint32_t gi_schema_visit(struct gi_schema_compiler *c)
{
    struct gi_schema_set set = {0};
    uint32_t next;
    c->n_looks = 0;
    gi_schema_memo_reset(c);
    gi_schema_index_create(c);
    if (c->build.has_failed) {
        return 0;
    }
    gi_schema_set_add(c, &set, c->root, false);
    const uint32_t rule = gi_schema_rule_of(c, &set);
    free(set.data);
    while (gi_schema_next_set(c, &set, &next)) {
        build_set(c, &set, next);
    }
    return rule;
}
