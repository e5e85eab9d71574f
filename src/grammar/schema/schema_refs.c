#include "grammar/schema/schema_refs.h"

#include "grammar/schema/schema_keyword.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_URI = 512 };

// A schema: the one with an $id around it, or the whole document's root.
struct entry {
    const cJSON *schema;
    const cJSON *resource;
};

struct gi_schema_index {
    struct {
        struct entry *data; // sorted by schema once the walk is over
        size_t count, capacity;
    } entries;
    struct {
        struct resource {
            const cJSON *schema;
            char uri[MAX_URI]; // absolute if one around it is; empty: none
        } * data;
        size_t count, capacity;
    } resources;
};

void gi_schema_index_destroy(struct gi_schema_index *index)
{
    if (index) {
        free(index->entries.data);
        free(index->resources.data);
        free(index);
    }
}

//-- URIs ------------------------------------------------------------------------------------------

static bool is_absolute(const char *uri)
{
    const size_t n =
        strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return n > 0 && uri[n] == ':';
}

// Writes ref as seen from base, without a fragment: RFC 3986 without dots in paths. False if it is
// too long.
static bool resolve(const char *base, const char *ref, char *out)
{
    const size_t n_ref = strcspn(ref, "#");
    const char *authority = strstr(base, "//");
    size_t n_base = 0;
    if (n_ref == 0) {
        n_base = strlen(base);
    } else if (!is_absolute(ref)) {
        const char *path = authority ? strchr(authority + 2, '/') : NULL;
        path = path ? path : base + strlen(base);
        const char *last = strrchr(base, '/');
        n_base = strncmp(ref, "//", 2) == 0 ? (size_t)(authority ? authority - base : 0)
                 : ref[0] == '/'            ? (size_t)(path - base)
                 : last && last >= path     ? (size_t)(last + 1 - base)
                                            : 0;
    }
    if (n_base + n_ref >= MAX_URI || strstr(ref, "../") || strncmp(ref, "./", 2) == 0) {
        return false;
    }
    memmove(out, base, n_base);
    memcpy(out + n_base, ref, n_ref);
    out[n_base + n_ref] = 0;
    return true;
}

//-- the walk --------------------------------------------------------------------------------------

struct walk {
    struct gi_schema_compiler *c;
    struct {
        struct entry *data;
        size_t count, capacity;
    } todo;
};

static void add(struct walk *walk, const cJSON *schema, const cJSON *resource)
{
    struct gi_schema_compiler *c = walk->c;
    if (!c->build.has_failed && cJSON_IsObject(schema)) {
        GI_SCHEMA_PUSH(c, &walk->todo, (struct entry){schema, resource});
    }
}

static const struct resource *resource_of(const struct gi_schema_index *index, const cJSON *schema)
{
    for (size_t i = 0; i < index->resources.count; i++) {
        if (index->resources.data[i].schema == schema) {
            return &index->resources.data[i];
        }
    }
    return NULL;
}

// Makes a schema with an $id a resource.
static void add_resource(struct walk *walk, const cJSON *schema, const cJSON *around)
{
    struct gi_schema_compiler *c = walk->c;
    struct gi_schema_index *index = c->index;
    const cJSON *id = gi_schema_get(schema, "$id");
    const struct resource *outer = resource_of(index, around);
    struct resource made = {.schema = schema};
    if (!resolve(outer ? outer->uri : "", cJSON_IsString(id) ? id->valuestring : "", made.uri)) {
        made.uri[0] = 0;
    }
    GI_SCHEMA_PUSH(c, &index->resources, made);
}

// Adds the schemas that the known keywords of a schema have; others may have what only looks so.
static void add_children(struct walk *walk, const struct entry *entry)
{
    for (const cJSON *item = entry->schema->child; item; item = item->next) {
        const struct gi_keyword *keyword = gi_schema_keyword(item->string);
        const enum gi_form form = keyword ? keyword->form : GI_FORM_ANY;
        const bool is_list = form == GI_FORM_SCHEMAS || form == GI_FORM_LIST;
        if (form == GI_FORM_SCHEMA || (form == GI_FORM_ITEMS && !cJSON_IsArray(item))) {
            add(walk, item, entry->resource);
        } else if (form == GI_FORM_MAP || form == GI_FORM_ITEMS || is_list) {
            for (const cJSON *child = item->child; child; child = child->next) {
                add(walk, child, entry->resource);
            }
        }
    }
}

static void walk_all(struct walk *walk)
{
    struct gi_schema_compiler *c = walk->c;
    struct gi_schema_index *index = c->index;
    while (walk->todo.count > 0 && !c->build.has_failed) {
        struct entry entry = walk->todo.data[--walk->todo.count];
        const cJSON *id = gi_schema_get(entry.schema, "$id");
        // An $id that is but an anchor, as older schemas have it, is not a resource.
        if (entry.schema == c->root || (cJSON_IsString(id) && id->valuestring[0] != '#')) {
            add_resource(walk, entry.schema, entry.resource);
            entry.resource = entry.schema;
        }
        GI_SCHEMA_PUSH(c, &index->entries, entry);
        add_children(walk, &entry);
    }
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    const uintptr_t l = (uintptr_t)left->schema, r = (uintptr_t)right->schema;
    return (l > r) - (l < r);
}

void gi_schema_index_create(struct gi_schema_compiler *c)
{
    struct walk walk = {.c = c};
    gi_schema_index_destroy(c->index);
    c->index = gi_schema_zeroed(c, 1, sizeof(*c->index));
    if (!c->index) {
        return;
    }
    add(&walk, c->root, c->root);
    walk_all(&walk);
    free(walk.todo.data);
    if (c->index->entries.count > 1) {
        qsort(c->index->entries.data, c->index->entries.count, sizeof(struct entry),
              compare_entries);
    }
}

static const cJSON *find_resource_of(const struct gi_schema_compiler *c, const cJSON *schema)
{
    const struct entry key = {.schema = schema};
    const struct gi_schema_index *index = c->index;
    const struct entry *found =
        index->entries.count
            ? bsearch(&key, index->entries.data, index->entries.count, sizeof(key), compare_entries)
            : NULL;
    return found ? found->resource : c->root;
}

//-- pointers --------------------------------------------------------------------------------------

static int digit_of(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

// Reads a step of a pointer up to the next '/': ~0, ~1 and %HH are escapes. Returns its end, NULL
// if it is too long or an escape is wrong.
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

static const cJSON *find_pointer(const cJSON *from, const char *at)
{
    while (from && at && *at == '/') {
        char step[256];
        at = take_step(at + 1, step, sizeof(step));
        from = at ? child_of(from, step) : NULL;
    }
    return at && !*at ? from : NULL;
}

// Returns the schema of a resource with an anchor; sets *n to how many schemas of the document have
// it as a dynamic one.
static const cJSON *find_anchor(const struct gi_schema_compiler *c, const cJSON *resource,
                                const char *name, size_t *n_dynamic)
{
    const struct gi_schema_index *index = c->index;
    const cJSON *found = NULL;
    *n_dynamic = 0;
    for (size_t i = 0; i < index->entries.count; i++) {
        const struct entry *entry = &index->entries.data[i];
        const cJSON *fixed = gi_schema_get(entry->schema, "$anchor");
        const cJSON *moving = gi_schema_get(entry->schema, "$dynamicAnchor");
        const cJSON *id = gi_schema_get(entry->schema, "$id");
        const bool is_moving = cJSON_IsString(moving) && strcmp(moving->valuestring, name) == 0;
        const bool is_it = is_moving ||
                           (cJSON_IsString(fixed) && strcmp(fixed->valuestring, name) == 0) ||
                           (cJSON_IsString(id) && id->valuestring[0] == '#' &&
                            strcmp(id->valuestring + 1, name) == 0);
        *n_dynamic += is_moving;
        if (is_it && entry->resource == resource) {
            found = entry->schema;
        }
    }
    return found;
}

const cJSON *gi_schema_find_target(struct gi_schema_compiler *c, const cJSON *schema,
                                   const cJSON *ref)
{
    const char *text = cJSON_IsString(ref) ? ref->valuestring : "";
    const char *fragment = strchr(text, '#');
    const bool is_dynamic = strcmp(ref->string, "$dynamicRef") == 0;
    char uri[MAX_URI];
    c->place = ref;
    const cJSON *resource = find_resource_of(c, schema);
    if (*text && *text != '#') {
        const struct resource *from = resource_of(c->index, resource);
        bool is_ok = from && resolve(from->uri, text, uri);
        resource = NULL;
        for (size_t i = 0; is_ok && i < c->index->resources.count; i++) {
            const struct resource *one = &c->index->resources.data[i];
            resource = *one->uri && strcmp(one->uri, uri) == 0 ? one->schema : resource;
        }
        if (!resource) {
            gi_schema_refuse(c, "'%s' \"%.100s\" is not supported: it is outside the schema",
                             ref->string, text);
            return NULL;
        }
    }
    const cJSON *target = resource;
    size_t n_dynamic = 0;
    if (fragment && fragment[1] && fragment[1] != '/') {
        target = find_anchor(c, resource, fragment + 1, &n_dynamic);
    } else if (fragment) {
        target = find_pointer(resource, fragment + 1);
    }
    if (!target) {
        gi_schema_refuse(c, "unresolved '%s' \"%.100s\"", ref->string, text);
    } else if (is_dynamic && n_dynamic > 1) {
        gi_schema_refuse(c, "'$dynamicRef' to one of several anchors is not supported");
        target = NULL;
    }
    return target;
}
