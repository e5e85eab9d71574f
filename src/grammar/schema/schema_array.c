#include "grammar/schema/schema_array.h"

#include "base/array.h"
#include "grammar/schema/schema_visit.h"

#include <stdlib.h>

struct list {
    struct {
        uint32_t *data; // rules of the items at the begin
        size_t count, capacity;
    } first;
    uint32_t rest; // the rule of all others, or NO_RULE: there are none
    uint32_t least, most;
};

static void read_first(struct gi_schema_writer *writer, const cJSON *items, const char *keyword,
                       struct list *list)
{
    for (const cJSON *item = items->child; item && !writer->has_failed; item = item->next) {
        if (list->first.count == list->most) {
            return; // no longer arrays are made
        }
        const size_t path = gi_schema_enter(writer, keyword, NULL);
        const uint32_t rule = gi_schema_visit(writer, item);
        gi_schema_leave(writer, path);
        if (!writer->has_failed && !GI_ARRAY_PUSH(&list->first, "a schema", writer->err, rule)) {
            writer->has_failed = true;
        }
    }
}

// Returns the rule of any value.
static uint32_t visit_value(struct gi_schema_writer *writer)
{
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= value\n", rule);
    return rule;
}

static void read_list(struct gi_schema_writer *writer, const cJSON *schema, struct list *list)
{
    const cJSON *items = gi_schema_get(schema, "items");
    const cJSON *first = gi_schema_get(schema, "prefixItems");
    list->least = gi_schema_count(writer, schema, "minItems", 0);
    list->most = gi_schema_count(writer, schema, "maxItems", GI_SCHEMA_MAX_COUNT);
    list->most = list->most < GI_SCHEMA_MAX_COUNT ? list->most : GI_SCHEMA_MAX_COUNT;
    if (list->least > list->most) {
        gi_schema_refuse(writer, "'minItems' is above 'maxItems' or 10000");
    }
    if (first && (!cJSON_IsArray(first) || cJSON_IsArray(items))) {
        gi_schema_refuse(writer, "'prefixItems' is not an array, or 'items' is one too");
        return;
    }
    if (cJSON_IsArray(items)) { // as older schemas have it
        read_first(writer, items, "items", list);
    } else if (first) {
        read_first(writer, first, "prefixItems", list);
    }
    if (items && !cJSON_IsArray(items) && !cJSON_IsFalse(items)) {
        const size_t path = gi_schema_enter(writer, "items", NULL);
        list->rest = gi_schema_visit(writer, items);
        gi_schema_leave(writer, path);
    } else if (!cJSON_IsFalse(items) && list->least >= list->first.count + (first ? 1 : 0)) {
        list->rest = visit_value(writer);
    }
    if (!list->rest && list->least > list->first.count) {
        gi_schema_refuse(writer, "'minItems' asks for more items than there may be");
    }
}

// Writes "{least,most}" of items beyond those of `before`, without an end if most is what any array
// has.
static void write_bounds(struct gi_schema_writer *writer, const struct list *list, size_t before)
{
    const size_t least = list->least > before ? list->least - before : 0;
    if (list->most == GI_SCHEMA_MAX_COUNT) {
        gi_schema_write(writer, "{%zu,}", least);
    } else {
        gi_schema_write(writer, "{%zu,%zu}", least, list->most - before);
    }
}

uint32_t gi_schema_visit_array(struct gi_schema_writer *writer, const cJSON *schema)
{
    struct list list = {0};
    read_list(writer, schema, &list);
    const size_t n = list.first.count;
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= \"[\" ws", rule);
    for (size_t i = 0; i < n; i++) {
        gi_schema_write(writer, "%s v%u ws", i > 0 ? " \",\" ws" : "", list.first.data[i]);
    }
    if (list.rest && list.most > n) {
        if (n == 0) {
            gi_schema_write(writer, " (v%u ws", list.rest);
        }
        gi_schema_write(writer, " (\",\" ws v%u ws)", list.rest);
        write_bounds(writer, &list, n > 0 ? n : 1);
        if (n == 0) {
            gi_schema_write(writer, ")%s", list.least == 0 ? "?" : "");
        }
    }
    gi_schema_write(writer, " \"]\"\n");
    free(list.first.data);
    return rule;
}
