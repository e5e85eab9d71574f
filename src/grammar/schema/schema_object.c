#include "grammar/schema/schema_object.h"

#include "base/array.h"
#include "grammar/schema/schema_merge.h"
#include "grammar/schema/schema_visit.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PROPERTIES = 5000, MAX_NAME = 256 };

struct property {
    const char *name;
    uint32_t rule;
    bool is_required;
};

struct object {
    struct {
        struct property *data;
        size_t count, capacity;
    } properties;
    uint32_t extra; // the rule of a member that no property names, or NO_RULE
};

//-- names that are none of the properties ---------------------------------------------------------

// Names from first to end, sorted, which share the bytes before `at`.
struct names {
    const char **data;
    size_t first, end, at;
};

static size_t char_size(const char *text)
{
    const uint8_t lead = (uint8_t)*text;
    return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";

// Returns the letter by which JSON escapes a byte, 0 if it needs none.
static char letter_of(char byte)
{
    const char *found = strchr(codes, byte);
    return byte && found ? letters[found - codes] : 0;
}

static bool is_control(char byte)
{
    return (uint8_t)byte < 0x20 || byte == 0x7f;
}

// Writes the other characters that may stand where the names have these, and any rest.
static void write_others(struct gi_schema_writer *writer, const struct names *names,
                         const char *used_letters, const char *between)
{
    gi_schema_write(writer, "%s", between);
    gi_schema_write(writer, "[^\"\\\\\\x00-\\x1f\\x7f");
    for (size_t i = names->first; i < names->end; i++) {
        const char *at = names->data[i] + names->at;
        const bool is_new =
            i == names->first || strncmp(at, names->data[i - 1] + names->at, char_size(at)) != 0;
        if (*at && is_new && !letter_of(*at) && !is_control(*at)) {
            if ((uint8_t)*at < 0x80) {
                gi_schema_write_char(writer, (uint8_t)*at);
            } else {
                gi_schema_write(writer, "%.*s", (int)char_size(at), at);
            }
        }
    }
    gi_schema_write(writer, "] key-char*");
    if (strlen(used_letters) < strlen(letters)) {
        gi_schema_write(writer, " | \"\\\\\" [");
        for (const char *letter = letters; *letter; letter++) {
            if (!strchr(used_letters, *letter)) {
                gi_schema_write_char(writer, (uint8_t)*letter);
            }
        }
        gi_schema_write(writer, "] key-char*");
    }
}

struct branch {
    const char *text;
    size_t size;
    uint32_t rule;
};

// Writes the rule of the ends of keys that make none of the names; returns its number. Calls itself
// once for each character of the longest name, at most MAX_NAME times.
static uint32_t visit_names(struct gi_schema_writer *writer, const struct names *names)
{
    struct {
        struct branch *data;
        size_t count, capacity;
    } branches = {0};
    char used_letters[sizeof(letters)] = {0};
    const bool is_name = names->first < names->end && !names->data[names->first][names->at];
    size_t first = names->first;
    while (first < names->end && !names->data[first][names->at]) {
        first++;
    }
    while (first < names->end && !writer->has_failed) {
        const char *at = names->data[first] + names->at;
        struct names inner = {names->data, first, first, names->at + char_size(at)};
        while (inner.end < names->end &&
               strncmp(names->data[inner.end] + names->at, at, char_size(at)) == 0) {
            inner.end++;
        }
        first = inner.end;
        if (letter_of(*at)) {
            used_letters[strlen(used_letters)] = letter_of(*at);
        } else if (is_control(*at)) {
            continue; // keys do not have it
        }
        const struct branch branch = {at, char_size(at), visit_names(writer, &inner)};
        if (!writer->has_failed && !GI_ARRAY_PUSH(&branches, "a schema", writer->err, branch)) {
            writer->has_failed = true;
        }
    }
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= ", rule);
    const char *between = "";
    for (size_t i = 0; i < branches.count; i++) {
        const struct branch *branch = &branches.data[i];
        const char escaped[3] = {'\\', letter_of(*branch->text), 0};
        char plain[5] = {0};
        memcpy(plain, branch->text, branch->size < 4 ? branch->size : 4);
        gi_schema_write(writer, "%s", between);
        gi_schema_write_literal(writer, escaped[1] ? escaped : plain);
        gi_schema_write(writer, " v%u", branch->rule);
        between = " | ";
    }
    if (!is_name) {
        gi_schema_write(writer, "%s\"\"", between);
        between = " | ";
    }
    write_others(writer, names, used_letters, between);
    gi_schema_write(writer, "\n");
    free(branches.data);
    return rule;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Returns the rule of keys that are none of the properties' names.
static uint32_t visit_keys(struct gi_schema_writer *writer, const struct object *object)
{
    const size_t n = object->properties.count;
    const char **names = gi_array_zeroed(n, sizeof(*names), "a schema", writer->err);
    if (!names) {
        writer->has_failed = true;
        return GI_SCHEMA_NO_RULE;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = object->properties.data[i].name;
        if (strlen(names[i]) > MAX_NAME) {
            gi_schema_refuse(writer,
                             "'additionalProperties' beside a name of more than %d bytes is not "
                             "supported",
                             MAX_NAME);
        }
    }
    qsort(names, n, sizeof(*names), compare_names);
    const struct names all = {names, 0, n, 0};
    const uint32_t rule = writer->has_failed ? GI_SCHEMA_NO_RULE : visit_names(writer, &all);
    free(names);
    return rule;
}

//-- members ---------------------------------------------------------------------------------------

static bool is_any(const cJSON *schema)
{
    return cJSON_IsTrue(schema) || (cJSON_IsObject(schema) && !gi_schema_has_more(schema, NULL));
}

static bool has_name(const cJSON *required, const char *name)
{
    for (const cJSON *item = required ? required->child : NULL; item; item = item->next) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_property(struct gi_schema_writer *writer, struct object *object, const char *name,
                         uint32_t rule, bool is_required)
{
    for (size_t i = 0; i < object->properties.count; i++) {
        if (strcmp(object->properties.data[i].name, name) == 0) {
            return; // named twice
        }
    }
    if (object->properties.count == MAX_PROPERTIES) {
        gi_schema_refuse(writer, "more than %d properties are not supported", MAX_PROPERTIES);
    }
    if (!writer->has_failed && !GI_ARRAY_PUSH(&object->properties, "a schema", writer->err,
                                              (struct property){name, rule, is_required})) {
        writer->has_failed = true;
    }
}

static void read_properties(struct gi_schema_writer *writer, const cJSON *schema,
                            struct object *object)
{
    const cJSON *properties = gi_schema_get(schema, "properties");
    const cJSON *required = gi_schema_get(schema, "required");
    if ((properties && !cJSON_IsObject(properties)) || (required && !cJSON_IsArray(required))) {
        gi_schema_refuse(writer, "'%s' is not an %s",
                         required && !cJSON_IsArray(required) ? "required" : "properties",
                         required && !cJSON_IsArray(required) ? "array" : "object");
        return;
    }
    for (const cJSON *item = properties ? properties->child : NULL; item && !writer->has_failed;
         item = item->next) {
        const size_t path = gi_schema_enter(writer, "properties", item->string);
        const uint32_t rule = gi_schema_visit(writer, item);
        add_property(writer, object, item->string, rule, has_name(required, item->string));
        gi_schema_leave(writer, path);
    }
}

// Adds required properties that `properties` does not have, and the rule of those without names.
static void read_additional(struct gi_schema_writer *writer, const cJSON *schema,
                            struct object *object)
{
    const cJSON *additional = gi_schema_get(schema, "additionalProperties");
    const cJSON *required = gi_schema_get(schema, "required");
    const bool is_closed = cJSON_IsFalse(additional);
    uint32_t value = GI_SCHEMA_NO_RULE;
    if (additional && !is_closed) {
        const size_t path = gi_schema_enter(writer, "additionalProperties", NULL);
        value = gi_schema_visit(writer, additional);
        gi_schema_leave(writer, path);
    }
    for (const cJSON *item = required ? required->child : NULL; item && !writer->has_failed;
         item = item->next) {
        const size_t before = object->properties.count;
        if (!cJSON_IsString(item)) {
            gi_schema_refuse(writer, "'required' has something that is not a name");
            return;
        }
        add_property(writer, object, item->valuestring, value, true);
        if (object->properties.count > before && is_closed) {
            gi_schema_refuse(writer,
                             "'required' asks for \"%.100s\", which 'additionalProperties' "
                             "excludes",
                             item->valuestring);
        }
    }
    if (value != GI_SCHEMA_NO_RULE) {
        const uint32_t key = object->properties.count ? visit_keys(writer, object) : 0;
        object->extra = gi_schema_new_rule(writer);
        gi_schema_write(writer, key ? "v%u ::= \"\\\"\" v%u \"\\\"" : "v%u ::= string \"",
                        object->extra, key);
        gi_schema_write(writer, ":\" ws v%u ws\n", value);
    }
}

static void write_member(struct gi_schema_writer *writer, const struct property *property)
{
    cJSON *name = cJSON_CreateStringReference(property->name);
    char *text = name ? cJSON_PrintUnformatted(name) : NULL;
    if (text) {
        gi_schema_write_literal(writer, text);
        if (property->rule) {
            gi_schema_write(writer, " \":\" ws v%u ws", property->rule);
        } else {
            gi_schema_write(writer, " \":\" ws value ws");
        }
    } else {
        gi_schema_no_memory(writer);
    }
    cJSON_free(text);
    cJSON_Delete(name);
}

// Writes for each property two rules: what may stand from it on after no member, and after others.
// Those of a property that may be left out lead on to the next one's. Returns the first.
static uint32_t write_members(struct gi_schema_writer *writer, const struct object *object)
{
    const size_t n = object->properties.count;
    const uint32_t first = writer->n_rules + 1; // after none: first + 2 i, after others: + 1
    for (size_t i = 0; i < 2 * n + 2; i++) {
        gi_schema_new_rule(writer);
    }
    for (uint32_t i = 0; i < n && !writer->has_failed; i++) {
        const struct property *property = &object->properties.data[i];
        for (uint32_t k = 0; k < 2; k++) {
            gi_schema_write(writer, "v%u ::= %s", first + 2 * i + k, k ? "\",\" ws " : "");
            write_member(writer, property);
            gi_schema_write(writer, " v%u", first + 2 * i + 3);
            if (!property->is_required) {
                gi_schema_write(writer, " | v%u", first + 2 * i + 2 + k);
            }
            gi_schema_write(writer, "\n");
        }
    }
    const uint32_t end = first + 2 * (uint32_t)n;
    if (object->extra) {
        gi_schema_write(writer, "v%u ::= (v%u v%u)?\nv%u ::= (\",\" ws v%u)*\n", end, object->extra,
                        end + 1, end + 1, object->extra);
    } else {
        gi_schema_write(writer, "v%u ::= \"\"\nv%u ::= \"\"\n", end, end + 1);
    }
    return first;
}

uint32_t gi_schema_visit_object(struct gi_schema_writer *writer, const cJSON *schema)
{
    const cJSON *properties = gi_schema_get(schema, "properties");
    const cJSON *additional = gi_schema_get(schema, "additionalProperties");
    struct object object = {0};
    const bool is_free = (!properties || (cJSON_IsObject(properties) && !properties->child)) &&
                         (!additional || is_any(additional)) && !gi_schema_get(schema, "required");
    if (is_free) {
        const uint32_t rule = gi_schema_new_rule(writer);
        gi_schema_write(writer, "v%u ::= object\n", rule);
        return rule;
    }
    read_properties(writer, schema, &object);
    read_additional(writer, schema, &object);
    const uint32_t first = write_members(writer, &object);
    const uint32_t rule = gi_schema_new_rule(writer);
    gi_schema_write(writer, "v%u ::= \"{\" ws v%u \"}\"\n", rule, first);
    free(object.properties.data);
    return rule;
}
