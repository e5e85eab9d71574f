#include "grammar/schema/schema_keyword.h"

#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_number.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// clang-format off
static const struct gi_keyword keywords[] = {
    {"type", GI_FORM_TYPE, GI_IS_ANY, GI_NEGATION_DIRECT},
    {"enum", GI_FORM_VALUES, GI_IS_ANY, GI_NEGATION_DIRECT},
    {"const", GI_FORM_ANY, GI_IS_ANY, GI_NEGATION_DIRECT},
    {"$ref", GI_FORM_ANY, 0, GI_NEGATION_EXPANDED},
    {"$dynamicRef", GI_FORM_ANY, 0, GI_NEGATION_PARTIAL},
    {"$recursiveRef", GI_FORM_ANY, 0, GI_NEGATION_PARTIAL},
    {"anyOf", GI_FORM_SCHEMAS, 0, GI_NEGATION_EXPANDED},
    {"oneOf", GI_FORM_SCHEMAS, 0, GI_NEGATION_EXPANDED},
    {"allOf", GI_FORM_SCHEMAS, 0, GI_NEGATION_EXPANDED},
    {"not", GI_FORM_SCHEMA, 0, GI_NEGATION_EXPANDED},
    {"if", GI_FORM_SCHEMA, 0, GI_NEGATION_EXPANDED},
    {"then", GI_FORM_SCHEMA, 0, GI_NEGATION_NONE},
    {"else", GI_FORM_SCHEMA, 0, GI_NEGATION_NONE},
    {"minLength", GI_FORM_ANY, GI_IS_STRING, GI_NEGATION_DIRECT},
    {"maxLength", GI_FORM_ANY, GI_IS_STRING, GI_NEGATION_DIRECT},
    {"pattern", GI_FORM_STRING, GI_IS_STRING, GI_NEGATION_DIRECT},
    {"format", GI_FORM_STRING, GI_IS_STRING, GI_NEGATION_NONE},
    {"minimum", GI_FORM_NUMBER, GI_IS_NUMBER, GI_NEGATION_DIRECT},
    {"maximum", GI_FORM_NUMBER, GI_IS_NUMBER, GI_NEGATION_DIRECT},
    {"exclusiveMinimum", GI_FORM_ANY, GI_IS_NUMBER, GI_NEGATION_DIRECT},
    {"exclusiveMaximum", GI_FORM_ANY, GI_IS_NUMBER, GI_NEGATION_DIRECT},
    {"multipleOf", GI_FORM_NUMBER, GI_IS_NUMBER, GI_NEGATION_DIRECT},
    {"items", GI_FORM_ITEMS, GI_IS_ARRAY, GI_NEGATION_DIRECT},
    {"prefixItems", GI_FORM_LIST, GI_IS_ARRAY, GI_NEGATION_PARTIAL},
    {"additionalItems", GI_FORM_SCHEMA, GI_IS_ARRAY, GI_NEGATION_PARTIAL},
    {"unevaluatedItems", GI_FORM_SCHEMA, GI_IS_ARRAY, GI_NEGATION_PARTIAL},
    {"minItems", GI_FORM_ANY, GI_IS_ARRAY, GI_NEGATION_DIRECT},
    {"maxItems", GI_FORM_ANY, GI_IS_ARRAY, GI_NEGATION_DIRECT},
    {"uniqueItems", GI_FORM_BOOL, GI_IS_ARRAY, GI_NEGATION_PARTIAL},
    {"contains", GI_FORM_SCHEMA, GI_IS_ARRAY, GI_NEGATION_DIRECT},
    {"properties", GI_FORM_MAP, GI_IS_OBJECT, GI_NEGATION_EXPANDED},
    {"required", GI_FORM_NAMES, GI_IS_OBJECT, GI_NEGATION_EXPANDED},
    {"additionalProperties", GI_FORM_SCHEMA, GI_IS_OBJECT, GI_NEGATION_EXPANDED},
    {"patternProperties", GI_FORM_MAP, GI_IS_OBJECT, GI_NEGATION_PARTIAL},
    {"propertyNames", GI_FORM_SCHEMA, GI_IS_OBJECT, GI_NEGATION_PARTIAL},
    {"unevaluatedProperties", GI_FORM_SCHEMA, GI_IS_OBJECT, GI_NEGATION_PARTIAL},
    {"minProperties", GI_FORM_ANY, GI_IS_OBJECT, GI_NEGATION_DIRECT},
    {"maxProperties", GI_FORM_ANY, GI_IS_OBJECT, GI_NEGATION_DIRECT},
    {"dependentRequired", GI_FORM_MAP, 0, GI_NEGATION_EXPANDED},
    {"dependentSchemas", GI_FORM_MAP, 0, GI_NEGATION_PARTIAL},
    {"dependencies", GI_FORM_MAP, 0, GI_NEGATION_PARTIAL},
    {"$defs", GI_FORM_MAP, 0, GI_NEGATION_NOTE},
    {"definitions", GI_FORM_MAP, 0, GI_NEGATION_NOTE},
    {"$id", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"$schema", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"$comment", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"title", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"description", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"default", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"example", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"examples", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"deprecated", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"readOnly", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
    {"writeOnly", GI_FORM_ANY, 0, GI_NEGATION_NOTE},
};
// clang-format on

const struct gi_keyword *gi_schema_keyword(const char *name)
{
    for (size_t i = 0; name && i < COUNT(keywords); i++) {
        if (strcmp(name, keywords[i].name) == 0) {
            return &keywords[i];
        }
    }
    return NULL;
}

bool gi_schema_is_schema(const cJSON *item)
{
    return cJSON_IsObject(item) || cJSON_IsBool(item);
}

bool gi_schema_is_any(const cJSON *schema)
{
    if (!cJSON_IsObject(schema)) {
        return cJSON_IsTrue(schema);
    }
    for (const cJSON *item = schema->child; item; item = item->next) {
        const struct gi_keyword *keyword = gi_schema_keyword(item->string);
        if (!keyword || keyword->negation != GI_NEGATION_NOTE) {
            return false;
        }
    }
    return true;
}

//-- values ----------------------------------------------------------------------------------------

const cJSON *gi_schema_get(const cJSON *schema, const char *keyword)
{
    return cJSON_GetObjectItemCaseSensitive(schema, keyword);
}

static bool has_form(const cJSON *item, enum gi_form form)
{
    switch (form) {
    case GI_FORM_SCHEMA:
        return gi_schema_is_schema(item);
    case GI_FORM_MAP:
        return cJSON_IsObject(item);
    case GI_FORM_NUMBER:
        return gi_schema_is_number(item);
    case GI_FORM_STRING:
        return cJSON_IsString(item);
    case GI_FORM_TYPE:
        return cJSON_IsString(item) || cJSON_IsArray(item);
    case GI_FORM_BOOL:
        return cJSON_IsBool(item);
    case GI_FORM_LIST:
    case GI_FORM_VALUES:
        return cJSON_IsArray(item);
    case GI_FORM_SCHEMAS:
    case GI_FORM_NAMES:
        break;
    default:
        return true;
    }
    bool fits = cJSON_IsArray(item) && (form == GI_FORM_NAMES || item->child);
    for (const cJSON *one = fits ? item->child : NULL; one; one = one->next) {
        fits = fits && (form == GI_FORM_NAMES ? cJSON_IsString(one) : gi_schema_is_schema(one));
    }
    return fits;
}

const cJSON *gi_schema_use(struct gi_schema_compiler *c, const cJSON *schema, const char *keyword)
{
    static const char *const names[] = {
        [GI_FORM_SCHEMA] = "a schema: an object, true or false",
        [GI_FORM_SCHEMAS] = "a list of schemas",
        [GI_FORM_MAP] = "an object",
        [GI_FORM_NAMES] = "a list of names",
        [GI_FORM_LIST] = "a list",
        [GI_FORM_VALUES] = "a list",
        [GI_FORM_NUMBER] = "a number",
        [GI_FORM_STRING] = "a text",
        [GI_FORM_TYPE] = "a type or a list of types",
        [GI_FORM_BOOL] = "true or false",
    };
    const cJSON *item = gi_schema_get(schema, keyword);
    const enum gi_form form = item ? gi_schema_keyword(keyword)->form : GI_FORM_ANY;
    if (item && !has_form(item, form)) {
        c->place = schema;
        gi_schema_refuse(c, "'%s' is not %s", keyword, names[form]);
        return NULL;
    }
    return item;
}

uint32_t gi_schema_count(struct gi_schema_compiler *c, const cJSON *item, uint32_t absent)
{
    struct gi_decimal value;
    if (!item) {
        return absent;
    }
    if (!gi_schema_is_number(item) || !gi_decimal_read(item->valuestring, &value) ||
        value.is_negative || !gi_decimal_is_whole(&value)) {
        c->place = item;
        gi_schema_refuse(c, "expected a whole number of at least 0");
        return absent;
    }
    uint32_t count = 0;
    for (int i = 0; i < value.point; i++) {
        if (count > UINT32_MAX / 10 - 1) {
            return UINT32_MAX;
        }
        count = count * 10 + (i < value.n ? (uint32_t)(value.digits[i] - '0') : 0);
    }
    return count;
}

static int type_named(const cJSON *name)
{
    static const struct {
        const char *name;
        int types;
    } names[] = {{"string", GI_IS_STRING}, {"integer", GI_IS_WHOLE}, {"number", GI_IS_NUMBER},
                 {"object", GI_IS_OBJECT}, {"array", GI_IS_ARRAY},   {"boolean", GI_IS_BOOLEAN},
                 {"null", GI_IS_NULL}};
    for (size_t i = 0; cJSON_IsString(name) && i < COUNT(names); i++) {
        if (strcmp(name->valuestring, names[i].name) == 0) {
            return names[i].types;
        }
    }
    return 0;
}

int gi_schema_types_of(struct gi_schema_compiler *c, const cJSON *type)
{
    const bool is_list = cJSON_IsArray(type);
    int types = 0;
    for (const cJSON *item = is_list ? type->child : type; item;
         item = is_list ? item->next : NULL) {
        const int named = type_named(item);
        types |= named ? named : GI_IS_ANY;
        if (!named) {
            c->place = item;
            gi_schema_refuse(c, "'type' \"%.100s\" is not a type of JSON",
                             cJSON_IsString(item) ? item->valuestring : "");
        }
    }
    if (!types) {
        c->place = type;
        gi_schema_refuse(c, "'type' is an empty list");
        return GI_IS_ANY;
    }
    return types;
}
