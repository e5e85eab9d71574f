#include "grammar/schema/schema_visit.h"

#include "base/array.h"
#include "grammar/schema/schema_array.h"
#include "grammar/schema/schema_merge.h"
#include "grammar/schema/schema_object.h"
#include "grammar/schema/schema_scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

static void write_rule_of(struct gi_schema_writer *writer, const cJSON *schema, uint32_t rule);

//-- types -----------------------------------------------------------------------------------------

enum {
    IS_STRING = 1,
    IS_INTEGER = 2,
    IS_NUMBER = 4,
    IS_OBJECT = 8,
    IS_ARRAY = 16,
    IS_BOOLEAN = 32,
    IS_NULL = 64
};

// Keywords that are known, with the types of values that they ask something of; 0: of all.
static const struct {
    const char *name;
    int types;
} keywords[] = {
    {"type",                 0                     },
    {"enum",                 0                     },
    {"const",                0                     },
    {"anyOf",                0                     },
    {"oneOf",                0                     },
    {"allOf",                0                     },
    {"$ref",                 0                     },
    {"properties",           IS_OBJECT             },
    {"required",             IS_OBJECT             },
    {"additionalProperties", IS_OBJECT             },
    {"items",                IS_ARRAY              },
    {"prefixItems",          IS_ARRAY              },
    {"minItems",             IS_ARRAY              },
    {"maxItems",             IS_ARRAY              },
    {"uniqueItems",          IS_ARRAY              },
    {"minLength",            IS_STRING             },
    {"maxLength",            IS_STRING             },
    {"pattern",              IS_STRING             },
    {"format",               IS_STRING             },
    {"minimum",              IS_INTEGER | IS_NUMBER},
    {"maximum",              IS_INTEGER | IS_NUMBER},
    {"exclusiveMinimum",     IS_INTEGER | IS_NUMBER},
    {"exclusiveMaximum",     IS_INTEGER | IS_NUMBER}
};

static const struct {
    const char *name;
    int type;
} type_names[] = {
    {"string",  IS_STRING },
    {"integer", IS_INTEGER},
    {"number",  IS_NUMBER },
    {"object",  IS_OBJECT },
    {"array",   IS_ARRAY  },
    {"boolean", IS_BOOLEAN},
    {"null",    IS_NULL   }
};

// Returns the types that keywords other than `type` ask something of; refuses unknown keywords.
static int check_keywords(struct gi_schema_writer *writer, const cJSON *schema)
{
    int types = 0;
    for (const cJSON *item = schema->child; item; item = item->next) {
        bool is_known = gi_schema_is_note(item->string);
        for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
            if (strcmp(item->string, keywords[i].name) == 0) {
                is_known = true;
                types |= keywords[i].types;
            }
        }
        if (!is_known || (strcmp(item->string, "uniqueItems") == 0 && !cJSON_IsFalse(item))) {
            gi_schema_refuse(writer, "'%.100s' is not supported", item->string);
        }
    }
    return types;
}

static int type_of_name(struct gi_schema_writer *writer, const cJSON *name)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (cJSON_IsString(name) && strcmp(name->valuestring, type_names[i].name) == 0) {
            return type_names[i].type;
        }
    }
    gi_schema_refuse(writer, "'type' \"%.100s\" is not a type of JSON",
                     cJSON_IsString(name) ? name->valuestring : "");
    return 0;
}

static int types_of(struct gi_schema_writer *writer, const cJSON *type)
{
    int types = 0;
    if (!cJSON_IsArray(type)) {
        return type_of_name(writer, type);
    }
    for (const cJSON *item = type->child; item; item = item->next) {
        types |= type_of_name(writer, item);
    }
    if (!types) {
        gi_schema_refuse(writer, "'type' names no type");
    }
    return types;
}

static void write_types(struct gi_schema_writer *writer, const cJSON *schema, int types,
                        uint32_t rule)
{
    const char *between = "";
    const uint32_t object = types & IS_OBJECT ? gi_schema_visit_object(writer, schema) : 0;
    const uint32_t array = types & IS_ARRAY ? gi_schema_visit_array(writer, schema) : 0;
    gi_schema_write(writer, "v%u ::= ", rule);
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (!(types & type_names[i].type)) {
            continue;
        }
        gi_schema_write(writer, "%s", between);
        between = " | ";
        switch (type_names[i].type) {
        case IS_STRING:
            gi_schema_write_string(writer, schema);
            break;
        case IS_INTEGER:
            gi_schema_write_integer(writer, schema);
            break;
        case IS_OBJECT:
            gi_schema_write(writer, "v%u", object);
            break;
        case IS_ARRAY:
            gi_schema_write(writer, "v%u", array);
            break;
        case IS_BOOLEAN:
            gi_schema_write(writer, "\"true\" | \"false\"");
            break;
        default:
            gi_schema_write(writer, "%s", type_names[i].type == IS_NULL ? "\"null\"" : "number");
            break;
        }
    }
    gi_schema_write(writer, "\n");
}

// Refuses bounds of numbers that are not whole.
static void check_bounds(struct gi_schema_writer *writer, const cJSON *schema, int types)
{
    static const char *const bounds[] = {"minimum", "maximum", "exclusiveMinimum",
                                         "exclusiveMaximum"};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (types & IS_NUMBER && gi_schema_get(schema, bounds[i])) {
            gi_schema_refuse(writer, "'%s' is supported with the type \"integer\" alone",
                             bounds[i]);
        }
    }
}

//-- constants -------------------------------------------------------------------------------------

static bool has_type(const cJSON *value, int types)
{
    const bool is_whole =
        cJSON_IsNumber(value) && value->valuedouble == (double)(int64_t)value->valuedouble;
    return (cJSON_IsString(value) && types & IS_STRING) ||
           (cJSON_IsNumber(value) && (types & IS_NUMBER || (is_whole && types & IS_INTEGER))) ||
           (cJSON_IsObject(value) && types & IS_OBJECT) ||
           (cJSON_IsArray(value) && types & IS_ARRAY) ||
           (cJSON_IsBool(value) && types & IS_BOOLEAN) || (cJSON_IsNull(value) && types & IS_NULL);
}

static void write_constants(struct gi_schema_writer *writer, const cJSON *schema, uint32_t rule)
{
    const cJSON *constant = gi_schema_get(schema, "const");
    const cJSON *type = gi_schema_get(schema, "type");
    const cJSON *list = gi_schema_get(schema, "enum");
    const int types = type ? types_of(writer, type) : ~0;
    size_t n = 0;
    for (const cJSON *item = schema->child; item; item = item->next) {
        if (item != constant && item != type && item != list && !gi_schema_is_note(item->string)) {
            gi_schema_refuse(writer, "'%.100s' beside '%s' is not supported", item->string,
                             constant ? "const" : "enum");
        }
    }
    if (constant ? list != NULL : !cJSON_IsArray(list)) {
        gi_schema_refuse(writer, constant ? "'enum' beside 'const' is not supported"
                                          : "'enum' is not an array");
        return;
    }
    gi_schema_write(writer, "v%u ::= ", rule);
    for (const cJSON *item = constant ? constant : list->child; item;
         item = constant ? NULL : item->next) {
        if (has_type(item, types)) {
            gi_schema_write(writer, "%s", n++ > 0 ? " | " : "");
            gi_schema_write_constant(writer, item);
        }
    }
    gi_schema_write(writer, "\n");
    if (n == 0) {
        gi_schema_refuse(writer, "'%s' has no value of the type", constant ? "const" : "enum");
    }
}

//-- several schemas -------------------------------------------------------------------------------

static void write_any_of(struct gi_schema_writer *writer, const cJSON *schema, const char *keyword,
                         uint32_t rule)
{
    const cJSON *list = gi_schema_get(schema, keyword);
    const bool has_more = gi_schema_has_more(schema, keyword);
    struct {
        uint32_t *data;
        size_t count, capacity;
    } rules = {0};
    if (!cJSON_IsArray(list) || !list->child) {
        gi_schema_refuse(writer, "'%s' is not an array of schemas", keyword);
        return;
    }
    for (const cJSON *item = list->child; item && !writer->has_failed; item = item->next) {
        char index[24];
        snprintf(index, sizeof(index), "%zu", rules.count);
        const size_t path = gi_schema_enter(writer, keyword, index);
        const cJSON *one = has_more ? gi_schema_merge(writer, schema, keyword, item) : item;
        const uint32_t found = one ? gi_schema_visit(writer, one) : GI_SCHEMA_NO_RULE;
        gi_schema_leave(writer, path);
        if (!writer->has_failed && !GI_ARRAY_PUSH(&rules, "a schema", writer->err, found)) {
            writer->has_failed = true;
        }
    }
    gi_schema_write(writer, "v%u ::= ", rule);
    for (size_t i = 0; i < rules.count; i++) {
        gi_schema_write(writer, "%sv%u", i > 0 ? " | " : "", rules.data[i]);
    }
    gi_schema_write(writer, "\n");
    free(rules.data);
}

// Returns the rule of what a $ref leads to, which is written once.
static uint32_t visit_target(struct gi_schema_writer *writer, const cJSON *schema)
{
    const cJSON *ref = gi_schema_get(schema, "$ref");
    const cJSON *target = gi_schema_find_target(writer, ref);
    if (!target) {
        return GI_SCHEMA_NO_RULE;
    }
    for (size_t i = 0; i < writer->targets.count; i++) {
        if (writer->targets.data[i].schema == target) {
            return writer->targets.data[i].rule;
        }
    }
    const uint32_t rule = gi_schema_new_rule(writer);
    if (!GI_ARRAY_PUSH(&writer->targets, "a schema", writer->err,
                       (struct gi_schema_target){target, rule})) {
        writer->has_failed = true;
        return GI_SCHEMA_NO_RULE;
    }
    write_rule_of(writer, target, rule);
    return rule;
}

//-- any schema ------------------------------------------------------------------------------------

static void write_object_schema(struct gi_schema_writer *writer, const cJSON *schema, uint32_t rule)
{
    const cJSON *type = gi_schema_get(schema, "type");
    const int asked = check_keywords(writer, schema);
    if (writer->has_failed) {
        return;
    }
    if (gi_schema_get(schema, "$ref") && !gi_schema_has_more(schema, "$ref")) {
        const uint32_t target = visit_target(writer, schema);
        gi_schema_write(writer, "v%u ::= v%u\n", rule, target);
    } else if (gi_schema_get(schema, "$ref") || gi_schema_get(schema, "allOf")) {
        const cJSON *list = gi_schema_get(schema, "allOf");
        if (list && !cJSON_IsArray(list)) {
            gi_schema_refuse(writer, "'allOf' is not an array of schemas");
            return;
        }
        const cJSON *merged = gi_schema_merge(writer, schema, NULL, NULL);
        if (merged) {
            write_rule_of(writer, merged, rule);
        }
    } else if (gi_schema_get(schema, "anyOf") || gi_schema_get(schema, "oneOf")) {
        write_any_of(writer, schema, gi_schema_get(schema, "anyOf") ? "anyOf" : "oneOf", rule);
    } else if (gi_schema_get(schema, "const") || gi_schema_get(schema, "enum")) {
        write_constants(writer, schema, rule);
    } else if (type || asked) {
        const int types = type ? types_of(writer, type) : asked;
        check_bounds(writer, schema, types);
        write_types(writer, schema, types, rule);
    } else {
        gi_schema_write(writer, "v%u ::= value\n", rule);
    }
}

static void write_rule_of(struct gi_schema_writer *writer, const cJSON *schema, uint32_t rule)
{
    if (writer->depth == MAX_DEPTH) {
        gi_schema_refuse(writer, "schemas are nested deeper than %d", MAX_DEPTH);
    }
    if (writer->has_failed) {
        return;
    }
    writer->depth++;
    if (cJSON_IsTrue(schema)) {
        gi_schema_write(writer, "v%u ::= value\n", rule);
    } else if (cJSON_IsObject(schema)) {
        write_object_schema(writer, schema, rule);
    } else {
        gi_schema_refuse(writer, cJSON_IsFalse(schema)
                                     ? "no value is allowed here"
                                     : "a schema has to be an object, true or false");
    }
    writer->depth--;
}

uint32_t gi_schema_visit(struct gi_schema_writer *writer, const cJSON *schema)
{
    const uint32_t rule = gi_schema_new_rule(writer);
    write_rule_of(writer, schema, rule);
    return writer->has_failed ? GI_SCHEMA_NO_RULE : rule;
}
