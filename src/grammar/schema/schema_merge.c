#include "grammar/schema/schema_merge.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

bool gi_schema_is_note(const char *keyword)
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

bool gi_schema_has_more(const cJSON *schema, const char *but)
{
    for (const cJSON *item = schema->child; item; item = item->next) {
        if (!gi_schema_is_note(item->string) && !(but && strcmp(item->string, but) == 0)) {
            return true;
        }
    }
    return false;
}

//-- references ------------------------------------------------------------------------------------

static int digit_of(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

// Reads a step of a pointer up to the next '/': ~0, ~1 and %HH are escapes. Returns what is behind
// it, NULL if it is too long or an escape is wrong.
static const char *take_step(const char *pointer, char *step, size_t capacity)
{
    size_t n = 0;
    for (; *pointer && *pointer != '/' && n + 1 < capacity; pointer++) {
        char byte = *pointer;
        if (byte == '%') {
            const int high = digit_of(pointer[1]), low = high < 0 ? -1 : digit_of(pointer[2]);
            if (low < 0) {
                return NULL;
            }
            byte = (char)(high * 16 + low);
            pointer += 2;
        } else if (byte == '~') {
            pointer++;
            if (*pointer != '0' && *pointer != '1') {
                return NULL;
            }
            byte = *pointer == '0' ? '~' : '/';
        }
        step[n++] = byte;
    }
    step[n] = 0;
    return *pointer && *pointer != '/' ? NULL : pointer;
}

static const cJSON *child_of(const cJSON *parent, const char *step)
{
    if (!cJSON_IsArray(parent)) {
        return cJSON_GetObjectItemCaseSensitive(parent, step);
    }
    char *end;
    const unsigned long index = strtoul(step, &end, 10);
    return *step >= '0' && *step <= '9' && *end == 0 && index < 100000
               ? cJSON_GetArrayItem(parent, (int)index)
               : NULL;
}

const cJSON *gi_schema_find_target(struct gi_schema_writer *writer, const cJSON *ref)
{
    const char *text = cJSON_IsString(ref) ? ref->valuestring : "";
    if (text[0] != '#' || (text[1] && text[1] != '/')) {
        gi_schema_refuse(writer, "'$ref' \"%.100s\" is not supported: it has to begin with \"#/\"",
                         text);
        return NULL;
    }
    const cJSON *target = writer->root;
    const char *at = text + 1;
    while (target && at && *at == '/') {
        char step[256];
        at = take_step(at + 1, step, sizeof(step));
        target = at ? child_of(target, step) : NULL;
    }
    if (!target || !at) {
        gi_schema_refuse(writer, "'$ref' \"%.100s\" leads nowhere", text);
        return NULL;
    }
    return target;
}

//-- merging ---------------------------------------------------------------------------------------

static void add_copy(struct gi_schema_writer *writer, cJSON *to, const cJSON *item)
{
    cJSON *copy = cJSON_Duplicate(item, true);
    if (!copy || !(cJSON_IsArray(to) ? cJSON_AddItemToArray(to, copy)
                                     : cJSON_AddItemToObject(to, item->string, copy))) {
        cJSON_Delete(copy);
        gi_schema_no_memory(writer);
    }
}

// Replaces item of `properties` by one that both it and other allow.
static void join_property(struct gi_schema_writer *writer, cJSON *properties, cJSON *item,
                          const cJSON *other)
{
    cJSON *both = cJSON_CreateObject();
    cJSON *list = both ? cJSON_AddArrayToObject(both, "allOf") : NULL;
    if (!list) {
        cJSON_Delete(both);
        gi_schema_no_memory(writer);
        return;
    }
    add_copy(writer, list, item);
    add_copy(writer, list, other);
    if (!cJSON_ReplaceItemInObjectCaseSensitive(properties, other->string, both)) {
        cJSON_Delete(both);
        gi_schema_no_memory(writer);
    }
}

static void join_properties(struct gi_schema_writer *writer, cJSON *to, const cJSON *from)
{
    for (const cJSON *item = from->child; item && !writer->has_failed; item = item->next) {
        cJSON *found = cJSON_GetObjectItemCaseSensitive(to, item->string);
        if (!found) {
            add_copy(writer, to, item);
        } else if (!cJSON_Compare(found, item, true)) {
            join_property(writer, to, found, item);
        }
    }
}

static void join_arrays(struct gi_schema_writer *writer, cJSON *to, const cJSON *from)
{
    for (const cJSON *item = from->child; item && !writer->has_failed; item = item->next) {
        add_copy(writer, to, item);
    }
}

// Refuses properties of one schema that another excludes by its additionalProperties.
static void check_additional(struct gi_schema_writer *writer, const cJSON *schema,
                             const cJSON *other)
{
    const cJSON *additional = gi_schema_get(schema, "additionalProperties");
    const cJSON *own = gi_schema_get(schema, "properties");
    const cJSON *others = gi_schema_get(other, "properties");
    if (!additional || cJSON_IsTrue(additional)) {
        return;
    }
    for (const cJSON *item = others ? others->child : NULL; item; item = item->next) {
        if (!own || !cJSON_GetObjectItemCaseSensitive(own, item->string)) {
            gi_schema_refuse(writer,
                             "'additionalProperties' of one schema and the property \"%.100s\" of "
                             "another that has to hold too are not supported",
                             item->string);
        }
    }
}

static bool has_one(const cJSON *a, const cJSON *b, const char *first, const char *second)
{
    return gi_schema_get(a, first) && !gi_schema_get(a, second) && gi_schema_get(b, second);
}

static void join_item(struct gi_schema_writer *writer, cJSON *to, const cJSON *item)
{
    cJSON *found = cJSON_GetObjectItemCaseSensitive(to, item->string);
    if (gi_schema_is_note(item->string)) {
        return;
    }
    if (!found) {
        add_copy(writer, to, item);
    } else if (cJSON_IsObject(found) && cJSON_IsObject(item) &&
               strcmp(item->string, "properties") == 0) {
        join_properties(writer, found, item);
    } else if (cJSON_IsArray(found) && cJSON_IsArray(item) &&
               (strcmp(item->string, "required") == 0 || strcmp(item->string, "allOf") == 0)) {
        join_arrays(writer, found, item);
    } else if (!cJSON_Compare(found, item, true)) {
        gi_schema_refuse(writer,
                         "'%.100s' differs between schemas that have to hold together, "
                         "which is not supported",
                         item->string);
    }
}

static void join(struct gi_schema_writer *writer, cJSON *to, const cJSON *schema, const char *but,
                 int depth);

static void join_list(struct gi_schema_writer *writer, cJSON *to, const cJSON *list, int depth)
{
    if (!cJSON_IsArray(list)) {
        join(writer, to, list, NULL, depth);
        return;
    }
    for (const cJSON *item = list->child; item && !writer->has_failed; item = item->next) {
        join(writer, to, item, NULL, depth);
    }
}

// Adds what a schema asks for, through $ref and allOf.
static void join(struct gi_schema_writer *writer, cJSON *to, const cJSON *schema, const char *but,
                 int depth)
{
    if (depth == MAX_DEPTH) {
        gi_schema_refuse(writer, "'allOf' and '$ref' are nested deeper than %d", MAX_DEPTH);
    }
    if (writer->has_failed || cJSON_IsTrue(schema)) {
        return;
    }
    if (!cJSON_IsObject(schema)) {
        gi_schema_refuse(writer, "no value is allowed here");
        return;
    }
    check_additional(writer, to, schema);
    check_additional(writer, schema, to);
    if (has_one(to, schema, "items", "prefixItems") ||
        has_one(schema, to, "items", "prefixItems")) {
        gi_schema_refuse(writer, "'items' of one schema and 'prefixItems' of another that has to "
                                 "hold too are not supported");
    }
    for (const cJSON *item = schema->child; item && !writer->has_failed; item = item->next) {
        if (but && strcmp(item->string, but) == 0) {
            continue;
        }
        if (strcmp(item->string, "$ref") == 0) {
            const cJSON *target = gi_schema_find_target(writer, item);
            if (target) {
                join(writer, to, target, NULL, depth + 1);
            }
        } else if (strcmp(item->string, "allOf") == 0) {
            join_list(writer, to, item, depth + 1);
        } else {
            join_item(writer, to, item);
        }
    }
}

const cJSON *gi_schema_merge(struct gi_schema_writer *writer, const cJSON *schema,
                             const char *keyword, const cJSON *list)
{
    cJSON *merged = cJSON_CreateObject();
    if (!merged) {
        gi_schema_no_memory(writer);
        return NULL;
    }
    if (!GI_ARRAY_PUSH(&writer->merged, "a schema", writer->err, merged)) {
        writer->has_failed = true;
        cJSON_Delete(merged);
        return NULL;
    }
    join(writer, merged, schema, keyword, 0);
    if (list) {
        join_list(writer, merged, list, 0);
    }
    return writer->has_failed ? NULL : merged;
}
