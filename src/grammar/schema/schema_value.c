#include "grammar/schema/schema_value.h"

#include "base/utf8.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_members.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_string.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 12 };

static int types_of(const cJSON *value)
{
    struct gi_decimal number;
    if (gi_schema_is_number(value)) {
        return !gi_decimal_read(value->valuestring, &number) ? 0
               : gi_decimal_is_whole(&number)                ? GI_IS_WHOLE
                                                             : GI_IS_BROKEN;
    }
    return cJSON_IsString(value)   ? GI_IS_STRING
           : cJSON_IsObject(value) ? GI_IS_OBJECT
           : cJSON_IsArray(value)  ? GI_IS_ARRAY
           : cJSON_IsBool(value)   ? GI_IS_BOOLEAN
                                   : GI_IS_NULL;
}

static bool is_one_of(const cJSON *value, const cJSON *item)
{
    for (const cJSON *one = gi_schema_first_value(item); one;
         one = gi_schema_next_value(item, one)) {
        if (gi_schema_is_equal(one, value)) {
            return true;
        }
    }
    return false;
}

// Returns true if a schema holds, or fails, for a value.
static bool satisfies(struct gi_schema_compiler *c, const cJSON *schema, bool fails,
                      const cJSON *value);

static bool allows_set(struct gi_schema_compiler *c, const struct gi_schema_set *set,
                       const cJSON *value)
{
    struct gi_cases cases = {0};
    bool is_so = false;
    if (c->value_depth++ < MAX_DEPTH) {
        gi_schema_expand(c, set, &cases);
    }
    for (size_t i = 0; !is_so && i < cases.count; i++) {
        const struct gi_case one = cases.data[i];
        is_so = gi_schema_allows(c, &one, value);
    }
    c->value_depth--;
    gi_schema_cases_finish(&cases);
    return is_so;
}

static bool satisfies(struct gi_schema_compiler *c, const cJSON *schema, bool fails,
                      const cJSON *value)
{
    struct gi_schema_set set = {0};
    gi_schema_set_add(c, &set, schema, fails);
    const bool is_so = allows_set(c, &set, value);
    free(set.data);
    return is_so;
}

//-- keywords --------------------------------------------------------------------------------------

static bool holds_number(struct gi_schema_compiler *c, const cJSON *schema, const cJSON *item,
                         bool breaks, const cJSON *value)
{
    struct gi_decimal number, of;
    struct gi_bound bound;
    bool is_multiple = true;
    if (!gi_decimal_read(value->valuestring, &number)) {
        return false;
    }
    if (gi_schema_read_bound(c, schema, item, breaks, &bound)) {
        return gi_bound_holds(&bound, &number);
    }
    if (strcmp(item->string, "multipleOf") == 0 && gi_schema_is_number(item)) {
        return gi_decimal_read(item->valuestring, &of) &&
               gi_decimal_is_multiple(&number, &of, &is_multiple) && is_multiple != breaks;
    }
    return true;
}

// Returns how many items surely satisfy a schema, or fail it.
static uint32_t count_items(struct gi_schema_compiler *c, const cJSON *schema, bool fails,
                            const cJSON *value)
{
    uint32_t n = 0;
    for (const cJSON *one = value->child; one; one = one->next) {
        n += satisfies(c, schema, fails, one);
    }
    return n;
}

static bool is_unique(const cJSON *list)
{
    for (const cJSON *one = list->child; one; one = one->next) {
        for (const cJSON *other = one->next; other; other = other->next) {
            if (gi_schema_is_equal(one, other)) {
                return false;
            }
        }
    }
    return true;
}

static bool holds_list(struct gi_schema_compiler *c, const cJSON *schema, const cJSON *item,
                       const cJSON *value)
{
    const char *name = item->string;
    if (strcmp(name, "uniqueItems") == 0) {
        return !cJSON_IsTrue(item) || is_unique(value);
    }
    if (strcmp(name, "contains") == 0) {
        const cJSON *most = gi_schema_get(schema, "maxContains");
        const uint32_t size = (uint32_t)cJSON_GetArraySize(value);
        return count_items(c, item, false, value) >=
                   gi_schema_count(c, gi_schema_get(schema, "minContains"), 1) &&
               (!most ||
                size - count_items(c, item, true, value) <= gi_schema_count(c, most, UINT32_MAX));
    }
    return true;
}

static bool has_names(const cJSON *names, const cJSON *value)
{
    for (const cJSON *name = names->child; name; name = name->next) {
        if (cJSON_IsString(name) && !gi_schema_get(value, name->valuestring)) {
            return false;
        }
    }
    return true;
}

// Returns true if one keyword of a schema holds; ignores keywords of sizes, members and items.
static bool holds_keyword(struct gi_schema_compiler *c, const cJSON *schema, const cJSON *item,
                          const cJSON *value)
{
    if (strcmp(item->string, "const") == 0 ||
        (strcmp(item->string, "enum") == 0 && cJSON_IsArray(item))) {
        return is_one_of(value, item);
    }
    if (cJSON_IsObject(value) && strcmp(item->string, "required") == 0) {
        return has_names(item, value);
    }
    return gi_schema_is_number(value) ? holds_number(c, schema, item, false, value)
           : cJSON_IsArray(value)     ? holds_list(c, schema, item, value)
                                      : true;
}

static bool breaks_keyword(struct gi_schema_compiler *c, const struct gi_condition *condition,
                           const cJSON *value)
{
    const cJSON *item = condition->item;
    const char *name = item->string;
    if (strcmp(name, "const") == 0 || strcmp(name, "enum") == 0) {
        return !is_one_of(value, item);
    }
    if (gi_schema_is_number(value)) {
        return holds_number(c, condition->schema, item, true, value);
    }
    if (strcmp(name, "contains") == 0) {
        return count_items(c, item, true, value) == (uint32_t)cJSON_GetArraySize(value) &&
               !gi_schema_get(condition->schema, "minContains");
    }
    if (strcmp(name, "items") == 0) {
        return cJSON_IsObject(item) && !gi_schema_get(condition->schema, "prefixItems") &&
               count_items(c, item, true, value) > 0;
    }
    return true; // the case has the types and sizes, the automaton of its strings the rest
}

//-- values ----------------------------------------------------------------------------------------

// Returns true if each member or item satisfies what the case asks of it.
static bool allows_children(struct gi_schema_compiler *c, const struct gi_case *one,
                            const cJSON *value)
{
    uint32_t i = 0;
    bool is_ok = true;
    for (const cJSON *child = value->child; child && is_ok; child = child->next, i++) {
        struct gi_schema_set set = {0};
        if (cJSON_IsObject(value)) {
            const struct gi_key key = {.name = child->string};
            gi_schema_member_set(c, one, &key, &set);
            is_ok = gi_schema_allows_name(c, one, child->string);
        } else {
            gi_schema_item_set(c, one, i, &set);
        }
        is_ok = is_ok && (set.count == 0 || allows_set(c, &set, child));
        free(set.data);
    }
    return is_ok;
}

static bool allows_condition(struct gi_schema_compiler *c, const struct gi_condition *condition,
                             const cJSON *value)
{
    const bool has_name =
        condition->name && cJSON_IsObject(value) && gi_schema_get(value, condition->name);
    bool is_ok = true;
    switch (condition->kind) {
    case GI_HOLDS:
        for (const cJSON *item = cJSON_IsObject(condition->schema) ? condition->schema->child
                                                                   : NULL;
             item && is_ok; item = item->next) {
            is_ok = holds_keyword(c, condition->schema, item, value);
        }
        return is_ok;
    case GI_BREAKS:
        return breaks_keyword(c, condition, value);
    case GI_HAS:
    case GI_BAD_MEMBER:
        return has_name;
    case GI_LACKS:
        return !has_name;
    default:
        return true;
    }
}

bool gi_schema_allows(struct gi_schema_compiler *c, const struct gi_case *one, const cJSON *value)
{
    const bool is_list = cJSON_IsArray(value);
    bool is_ok = (types_of(value) & one->types) != 0;
    if (is_ok && (is_list || cJSON_IsObject(value))) {
        const struct gi_span span = gi_schema_span(c, one, is_list ? "minItems" : "minProperties",
                                                   is_list ? "maxItems" : "maxProperties");
        is_ok = gi_span_has(span, (uint32_t)cJSON_GetArraySize(value));
    }
    for (uint32_t i = 0; is_ok && i < one->count; i++) {
        is_ok = allows_condition(c, &one->conditions[i], value);
    }
    if (is_ok && cJSON_IsString(value)) {
        const struct gi_strings strings = gi_schema_strings_of(c, one);
        uint32_t n = 0;
        for (const char *at = value->valuestring; *at; n++) {
            gi_utf8_take(&at);
        }
        is_ok = gi_span_has(strings.span, n) &&
                (!strings.dfa || gi_dfa_allows(strings.dfa, value->valuestring));
    }
    return is_ok && allows_children(c, one, value) && !c->build.has_failed;
}

const cJSON *gi_schema_constants_of(struct gi_schema_compiler *c, const struct gi_case *one)
{
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *schema = gi_schema_holding(condition);
        const cJSON *constant = gi_schema_get(schema, "const");
        constant = constant ? constant : gi_schema_use(c, schema, "enum");
        if (constant) {
            return constant;
        }
    }
    return NULL;
}

bool gi_schema_has_no_constant(struct gi_schema_compiler *c, const struct gi_case *one)
{
    const cJSON *item = gi_schema_constants_of(c, one);
    bool is_any = item == NULL || c->value_depth > 0;
    const cJSON *value = is_any ? NULL : gi_schema_first_value(item);
    for (; value && !is_any; value = gi_schema_next_value(item, value)) {
        is_any = gi_schema_allows(c, one, value);
    }
    if (!is_any) {
        c->place = item;
        gi_schema_note_dead(c, "no value of '%s' satisfies the other keywords", item->string);
    }
    return !is_any && !c->build.has_failed;
}
