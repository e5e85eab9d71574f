#include "grammar/schema/schema_visit.h"

#include "base/array.h"
#include "grammar/schema/schema_array.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_object.h"
#include "grammar/schema/schema_refs.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_set.h"
#include "grammar/schema/schema_string.h"
#include "grammar/schema/schema_value.h"

#include <stdlib.h>
#include <string.h>

// The rules of which a value has to be one.
struct choice {
    struct gi_schema_writer *writer;
    struct {
        uint32_t *data;
        size_t count, capacity;
    } rules;
};

static void add(struct choice *choice, uint32_t rule)
{
    if (rule != GI_SCHEMA_NO_RULE && !choice->writer->has_failed &&
        !GI_ARRAY_PUSH(&choice->rules, "a schema", choice->writer->err, rule)) {
        choice->writer->has_failed = true;
    }
}

static void add_constant(struct choice *choice, const cJSON *value)
{
    const uint32_t rule = gi_schema_new_rule(choice->writer);
    gi_schema_write(choice->writer, "v%u ::= ", rule);
    gi_schema_write_constant(choice->writer, value);
    gi_schema_write(choice->writer, "\n");
    add(choice, rule);
}

//-- cases -----------------------------------------------------------------------------------------

static void add_constants(struct choice *choice, const struct gi_case *one, const cJSON *item)
{
    const bool is_list = strcmp(item->string, "enum") == 0;
    const size_t before = choice->rules.count;
    for (const cJSON *value = is_list ? item->child : item; value;
         value = is_list ? value->next : NULL) {
        if (gi_schema_allows(choice->writer, one, value)) {
            add_constant(choice, value);
        }
    }
    if (choice->rules.count == before) {
        choice->writer->place = item;
        gi_schema_note_dead(choice->writer, "no value of '%s' satisfies all that is asked for",
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
        const bool is_list = item && strcmp(item->string, "enum") == 0;
        if (!item || (!is_list && strcmp(item->string, "const") != 0)) {
            continue;
        }
        for (const cJSON *value = is_list ? item->child : item; value;
             value = is_list ? value->next : NULL) {
            types |= cJSON_IsObject(value) ? GI_IS_OBJECT : 0;
            types |= cJSON_IsArray(value) ? GI_IS_ARRAY : 0;
        }
    }
    return types;
}

static void add_case(struct choice *choice, struct gi_case one)
{
    static const cJSON plain[] = {
        {.type = cJSON_True}, {.type = cJSON_False}, {.type = cJSON_NULL}};
    struct gi_schema_writer *writer = choice->writer;
    const cJSON *place = writer->place;
    const cJSON *constants = gi_schema_constants_of(writer, &one);
    if (constants) {
        add_constants(choice, &one, constants);
        return;
    }
    one.types = gi_schema_asked_types(&one) & ~excluded_types(&one);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (gi_schema_allows(writer, &one, &plain[i])) {
            add_constant(choice, &plain[i]);
        }
    }
    writer->place = place;
    add(choice, one.types & GI_IS_STRING ? gi_schema_write_strings(writer, &one) : 0);
    writer->place = place;
    add(choice, one.types & GI_IS_NUMBER ? gi_schema_write_numbers(writer, &one) : 0);
    writer->place = place;
    add(choice, one.types & GI_IS_OBJECT ? gi_schema_write_object(writer, &one) : 0);
    writer->place = place;
    add(choice, one.types & GI_IS_ARRAY ? gi_schema_write_array(writer, &one) : 0);
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
        static const char *const notes[] = {"title",       "description", "default", "$defs",
                                            "definitions", "examples",    "$schema"};
        bool is_note = false;
        for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
            is_note = is_note || strcmp(item->string, notes[i]) == 0;
        }
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
    struct gi_schema_writer *writer = choice->writer;
    const cJSON *item = writer->has_cycle ? NULL : only_keyword(set);
    const bool is_ref = item && strcmp(item->string, "$ref") == 0;
    if (!item || (!is_ref && (strcmp(item->string, "anyOf") != 0 || !cJSON_IsArray(item)))) {
        return false;
    }
    const cJSON *target = is_ref ? gi_schema_find_target(writer, set->data[0].schema, item) : NULL;
    for (const cJSON *one = is_ref ? target : item->child; one; one = is_ref ? NULL : one->next) {
        struct gi_schema_set other = {0};
        gi_schema_set_add(writer, &other, one, false);
        add(choice, gi_schema_rule_of(writer, &other));
        free(other.data);
    }
    return choice->rules.count > 0;
}

static void add_cases(struct choice *choice, const struct gi_schema_set *set)
{
    struct gi_schema_writer *writer = choice->writer;
    struct gi_cases cases = {0};
    const cJSON *place = set->data[0].schema;
    writer->has_cycle = false;
    gi_schema_expand(writer, set, &cases);
    if (cases.list.count == 0 || !add_shared(choice, set)) {
        for (size_t i = 0; i < cases.list.count && !writer->has_failed; i++) {
            writer->place = place;
            add_case(choice, gi_schema_case(&cases, i));
        }
    }
    writer->place = place;
    if (choice->rules.count == 0 && cases.is_partial) {
        gi_schema_refuse(writer, "what 'not', or a schema of 'oneOf' that others overlap, leaves "
                                 "here cannot be told by a grammar");
    }
    gi_schema_cases_finish(&cases);
}

// Writes all values of the types that the schemas of a set name: nothing satisfies the rest of it.
static void write_types(struct gi_schema_writer *writer, const struct gi_schema_set *set)
{
    static const struct {
        int types;
        const char *rule;
    } rules[] = {
        {GI_IS_OBJECT, "object"}, {GI_IS_ARRAY, "array"},   {GI_IS_STRING, "string"},
        {GI_IS_BROKEN, "number"}, {GI_IS_WHOLE, "integer"}, {GI_IS_BOOLEAN, "\"true\" | \"false\""},
        {GI_IS_NULL, "\"null\""},
    };
    int types = GI_IS_ANY;
    for (size_t i = 0; i < set->count; i++) {
        const cJSON *type = set->data[i].fails || !cJSON_IsObject(set->data[i].schema)
                                ? NULL
                                : gi_schema_use(writer, set->data[i].schema, "type");
        types &= type ? gi_schema_types_of(writer, type) : GI_IS_ANY;
    }
    const char *between = types ? "" : "value";
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (types & rules[i].types) {
            gi_schema_write(writer, "%s%s", between, rules[i].rule);
            between = " | ";
        }
    }
    gi_schema_write(writer, "%s", types ? "" : between);
}

static void write_set(struct gi_schema_writer *writer, const struct gi_schema_set *set,
                      uint32_t rule)
{
    struct choice choice = {.writer = writer};
    if (set->count > 0) {
        add_cases(&choice, set);
    }
    gi_schema_write(writer, "v%u ::= ", rule);
    for (size_t i = 0; i < choice.rules.count; i++) {
        gi_schema_write(writer, "%sv%u", i > 0 ? " | " : "", choice.rules.data[i]);
    }
    if (choice.rules.count == 0 && set->count > 0 && writer->is_lenient) {
        write_types(writer, set);
    } else if (choice.rules.count == 0) {
        gi_schema_write(writer, set->count > 0 ? "never" : "value");
    }
    gi_schema_write(writer, "\n");
    free(choice.rules.data);
}

uint32_t gi_schema_visit(struct gi_schema_writer *writer)
{
    struct gi_schema_set set = {0};
    uint32_t next;
    writer->n_looks = 0;
    gi_schema_memo_reset(writer);
    gi_schema_index_create(writer);
    if (writer->has_failed) {
        return GI_SCHEMA_NO_RULE;
    }
    gi_schema_set_add(writer, &set, writer->root, false);
    const uint32_t rule = gi_schema_rule_of(writer, &set);
    free(set.data);
    while (gi_schema_next_set(writer, &set, &next)) {
        write_set(writer, &set, next);
    }
    return writer->has_failed ? GI_SCHEMA_NO_RULE : rule;
}
