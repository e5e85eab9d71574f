#include "cli/serve/calls/serve_gemma.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_call_schema.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_NESTING = 50, // of values that are read
    MAX_DEPTH = 10,   // of schemas; deeper values may be anything
    MAX_ITEMS = 100,  // of a list that are counted
};

//-- reading ---------------------------------------------------------------------------------------

static cJSON *read_value(const char **at, const char *end, int depth);

static void skip_white(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at)) {
        (*at)++;
    }
}

static bool take(const char **at, const char *end, const char *what)
{
    const size_t n = strlen(what);
    skip_white(at, end);
    const bool is_there = (size_t)(end - *at) >= n && memcmp(*at, what, n) == 0;
    *at += is_there ? n : 0;
    return is_there;
}

static char *copy(const char *text, size_t size)
{
    struct cli_bytes bytes = {0};
    cli_bytes_append(&bytes, text, size);
    return bytes.data;
}

// Takes the text up to a closing quote, whose opening one was taken; NULL if there is none. The
// caller frees it.
static char *take_quoted(const char **at, const char *end)
{
    static const char quote[] = SERVE_GEMMA_QUOTE;
    const char *close = memmem(*at, (size_t)(end - *at), quote, strlen(quote));
    char *text = close ? copy(*at, (size_t)(close - *at)) : NULL;
    *at = close ? close + strlen(quote) : *at;
    return text;
}

// Takes a text that is not in quotes, up to one of the signs behind it; NULL if it is empty.
static char *take_bare(const char **at, const char *end, const char *signs)
{
    size_t size = 0;
    while (*at + size < end && !strchr(signs, (*at)[size])) {
        size++;
    }
    const char *begin = *at;
    *at += size;
    while (size > 0 && strchr(" \t\r\n", begin[size - 1])) {
        size--;
    }
    return size > 0 ? copy(begin, size) : NULL;
}

static char *take_key(const char **at, const char *end)
{
    char *key = take(at, end, SERVE_GEMMA_QUOTE) ? take_quoted(at, end) : take_bare(at, end, ":}");
    if (key && !take(at, end, ":")) {
        free(key);
        key = NULL;
    }
    return key;
}

// Adds the entries of a dictionary; false if it does not end.
// NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_NESTING
static bool read_entries(const char **at, const char *end, int depth, cJSON *object)
{
    bool is_right = true;
    while (is_right && !take(at, end, "}")) {
        char *key = take_key(at, end);
        cJSON *value = key ? read_value(at, end, depth + 1) : NULL;
        skip_white(at, end);
        is_right = value && (take(at, end, ",") || (*at < end && **at == '}'));
        if (is_right) {
            cli_json_add_first(object, key, value);
        } else {
            cJSON_Delete(value);
        }
        free(key);
    }
    return is_right;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *read_dictionary(const char **at, const char *end, int depth)
{
    cJSON *object = cJSON_CreateObject();
    if (!read_entries(at, end, depth, object)) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *read_list(const char **at, const char *end, int depth)
{
    cJSON *list = cJSON_CreateArray();
    while (!take(at, end, "]")) {
        cJSON *item = read_value(at, end, depth + 1);
        cJSON_AddItemToArray(list, item);
        skip_white(at, end);
        if (!item || (!take(at, end, ",") && !(*at < end && **at == ']'))) {
            cJSON_Delete(list);
            return NULL;
        }
    }
    return list;
}

// Reads a number, a truth value, null, or a text without its quotes.
static cJSON *read_word(const char **at, const char *end)
{
    char *text = take_bare(at, end, ",]}");
    cJSON *value = text ? cli_json_parse_all(text, strlen(text), NULL) : NULL;
    if (text && !value) {
        value = cJSON_CreateString(text);
    }
    free(text);
    return value;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *read_value(const char **at, const char *end, int depth)
{
    if (depth > MAX_NESTING) {
        return NULL;
    }
    if (take(at, end, SERVE_GEMMA_QUOTE)) {
        char *text = take_quoted(at, end);
        cJSON *value = text ? cJSON_CreateString(text) : NULL;
        free(text);
        return value;
    }
    return take(at, end, "{")   ? read_dictionary(at, end, depth)
           : take(at, end, "[") ? read_list(at, end, depth)
                                : read_word(at, end);
}

cJSON *serve_read_gemma(const char **at, const char *end, bool *is_whole)
{
    cJSON *object = take(at, end, "{") ? cJSON_CreateObject() : NULL;
    *is_whole = object && read_entries(at, end, 0, object);
    return object;
}

//-- rules -----------------------------------------------------------------------------------------

// A schema whose rule is yet to be written.
struct pending {
    const cJSON *schema;
    size_t id;
    int depth;
    bool is_dict; // its rule is that of its properties, whatever else it may be
};

struct rules {
    struct serve_writer *writer;
    const cJSON *root; // the tool's parameters
    struct {
        struct pending *items;
        size_t count, capacity;
    } pending;
};

static const cJSON *get(const cJSON *schema, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(schema, name);
}

static bool has_properties(const cJSON *schema)
{
    const cJSON *properties = get(schema, "properties");
    return properties && properties->child;
}

// Appends the name of a schema's rule, which is written later.
static void add_rule(struct rules *rules, const cJSON *schema, bool is_dict, int depth)
{
    struct serve_writer *writer = rules->writer;
    if (depth > MAX_DEPTH) {
        serve_writer_add(writer, "free ");
        return;
    }
    *CLI_APPEND(&rules->pending) = (struct pending){schema, writer->n_rules, depth, is_dict};
    serve_writer_add(writer, "value-%zu ", writer->n_rules++);
}

// Appends one of the values that a schema lists.
static void add_constant(struct rules *rules, const cJSON *value)
{
    struct serve_writer *writer = rules->writer;
    if (cJSON_IsString(value) && !strstr(value->valuestring, SERVE_GEMMA_QUOTE)) {
        serve_writer_add(writer, "quote \"");
        serve_writer_escape(writer, value->valuestring, strlen(value->valuestring));
        serve_writer_add(writer, "\" quote ");
    } else if (cJSON_IsString(value) || cJSON_IsArray(value) || cJSON_IsObject(value)) {
        serve_writer_add(writer, "free ");
    } else {
        char *text = cJSON_PrintUnformatted(value);
        serve_writer_add(writer, "\"%s\" ", text ? text : "null");
        cJSON_free(text);
    }
}

// Returns a limit of the number of items; the fallback if it is missing or too large.
static int64_t limit_of(const cJSON *schema, const char *name, int64_t fallback)
{
    int64_t limit;
    const bool is_used =
        cli_json_int(get(schema, name), &limit) && limit >= 0 && limit <= MAX_ITEMS;
    return is_used ? limit : fallback;
}

static void add_list(struct rules *rules, const cJSON *schema, int depth)
{
    const cJSON *items = get(schema, "items");
    const int64_t most = limit_of(schema, "maxItems", -1), least = limit_of(schema, "minItems", 0);
    struct serve_writer *writer = rules->writer;
    if (most == 0) {
        serve_writer_add(writer, "\"[]\" ");
        return;
    }
    const bool is_free = !cJSON_IsObject(items) || depth + 1 > MAX_DEPTH;
    const size_t id = writer->n_rules;
    serve_writer_add(writer, "\"[\" (");
    if (is_free) {
        serve_writer_add(writer, "free (\",\" free)");
    } else {
        add_rule(rules, items, false, depth + 1);
        serve_writer_add(writer, "(\",\" value-%zu)", id);
    }
    serve_writer_add(writer, "{%d,", least > 1 ? (int)least - 1 : 0);
    if (most >= least) {
        serve_writer_add(writer, "%d", (int)most - 1);
    }
    serve_writer_add(writer, "})%s \"]\" ", least > 0 ? "" : "?");
}

static void add_type(struct rules *rules, const cJSON *schema, const char *type, int depth)
{
    static const char *const words[] = {"integer", "number", "boolean", "null"};
    struct serve_writer *writer = rules->writer;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(type, words[i]) == 0) {
            cJSON *own = cJSON_Duplicate(schema, 1);
            cJSON_DeleteItemFromObjectCaseSensitive(own, "type");
            cJSON_AddStringToObject(own, "type", type);
            serve_writer_json(writer, own, rules->root);
            cJSON_Delete(own);
            return;
        }
    }
    if (strcmp(type, "array") == 0) {
        add_list(rules, schema, depth);
    } else if ((strcmp(type, "object") == 0 || !type[0]) && has_properties(schema)) {
        add_rule(rules, schema, true, depth + 1);
    } else {
        serve_writer_add(writer, "%s ",
                         strcmp(type, "string") == 0   ? "quoted"
                         : strcmp(type, "object") == 0 ? "free-dict"
                                                       : "free");
    }
}

// Appends the types that a schema may have, each once, however often it is listed: each may add a
// rule.
static void add_types(struct rules *rules, const cJSON *schema, const cJSON *list, int depth)
{
    static const char *const types[] = {"integer", "number", "boolean", "null",
                                        "array",   "object", "string"};
    struct serve_writer *writer = rules->writer;
    struct serve_names listed = serve_names_of(list);
    bool is_listed = false;
    serve_writer_add(writer, "(");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (serve_names_have(&listed, types[i])) {
            serve_writer_add(writer, "%s", is_listed ? "| " : "");
            add_type(rules, schema, types[i], depth);
            is_listed = true;
        }
    }
    serve_writer_add(writer, is_listed ? ") " : "free) ");
    serve_names_finish(&listed);
}

// Appends alternatives: the values of a list, or its schemas.
static void add_choices(struct rules *rules, const cJSON *list, bool is_value, int depth)
{
    const cJSON *item;
    serve_writer_add(rules->writer, "(");
    cJSON_ArrayForEach(item, list)
    {
        serve_writer_add(rules->writer, "%s", item == list->child ? "" : "| ");
        if (is_value) {
            add_constant(rules, item);
        } else {
            add_rule(rules, item, false, depth + 1);
        }
    }
    serve_writer_add(rules->writer, ") ");
}

static void add_value(struct rules *rules, const cJSON *schema, int depth)
{
    const cJSON *type = get(schema, "type"), *constant = get(schema, "const");
    const cJSON *list = get(schema, "enum"), *any = get(schema, "anyOf");
    any = any ? any : get(schema, "oneOf");
    if (constant) {
        add_constant(rules, constant);
    } else if (cJSON_IsArray(list) && list->child) {
        add_choices(rules, list, true, depth);
    } else if (cJSON_IsArray(any) && any->child) {
        add_choices(rules, any, false, depth);
    } else if (cJSON_IsArray(type) && type->child) {
        add_types(rules, schema, type, depth);
    } else {
        add_type(rules, schema, cJSON_IsString(type) ? type->valuestring : "", depth);
    }
}

static int compare_names(const void *left, const void *right)
{
    const cJSON *const *a = left, *const *b = right;
    const int order = strcasecmp((*a)->string, (*b)->string);
    return order ? order : strcmp((*a)->string, (*b)->string);
}

// Writes the rules of a dictionary with properties: value-D-I is entry I, value-D-I-0 and
// value-D-I-1 are what may stand from it on after none, and after others.
static void write_entries(struct rules *rules, const struct pending *dict)
{
    struct serve_writer *writer = rules->writer;
    const cJSON *properties = get(dict->schema, "properties"), *item;
    const size_t n = (size_t)cJSON_GetArraySize(properties), d = dict->id;
    const cJSON **sorted = cli_alloc(n + 1, sizeof(const cJSON *));
    struct serve_names required = serve_names_of(get(dict->schema, "required"));
    size_t i = 0;
    cJSON_ArrayForEach(item, properties)
    {
        sorted[i++] = item;
    }
    qsort(sorted, n, sizeof(*sorted), compare_names);
    serve_writer_add(writer, "value-%zu ::= \"{\" value-%zu-0-0 \"}\"\n", d, d);
    for (i = 0; i < n; i++) {
        const bool is_needed = serve_names_have(&required, sorted[i]->string);
        serve_writer_add(writer, "value-%zu-%zu ::= ", d, i);
        serve_writer_text(writer, sorted[i]->string);
        serve_writer_add(writer, "\":\" ");
        add_value(rules, sorted[i], dict->depth);
        serve_writer_rules_of_entry(writer, "value", "value", d, i, is_needed, ",");
    }
    serve_writer_rules_of_end(writer, "value", d, n);
    serve_names_finish(&required);
    free(sorted);
}

static void write_rule(struct rules *rules, const struct pending *pending)
{
    if (pending->is_dict) {
        write_entries(rules, pending);
        return;
    }
    serve_writer_add(rules->writer, "value-%zu ::= ", pending->id);
    add_value(rules, pending->schema, pending->depth);
    serve_writer_add(rules->writer, "\n");
}

void serve_write_gemma(struct serve_writer *writer, const cJSON *parameters, const char *after)
{
    struct rules rules = {.writer = writer, .root = parameters};
    if (has_properties(parameters)) {
        add_rule(&rules, parameters, true, 0);
    } else {
        serve_writer_add(writer, "free-dict ");
    }
    serve_writer_text(writer, after);
    serve_writer_add(writer, "\n");
    for (size_t i = 0; i < rules.pending.count; i++) {
        const struct pending pending = rules.pending.items[i];
        write_rule(&rules, &pending);
    }
    free(rules.pending.items);
}

void serve_write_gemma_rules(struct serve_writer *writer)
{
    serve_writer_rules_of_text(writer, SERVE_GEMMA_QUOTE);
    serve_writer_add(writer, "quote ::= ");
    serve_writer_text(writer, SERVE_GEMMA_QUOTE);
    serve_writer_add(writer, "\nquoted ::= quote text-0 quote\nfree-number ::= \"-\"? [0-9]+ ");
    serve_writer_add(writer, "(\".\" [0-9]+)? ([eE] [-+]? [0-9]+)?\n");
    serve_writer_add(writer, "free ::= quoted | free-number | \"true\" | \"false\" | \"null\" | ");
    serve_writer_add(writer, "free-list | free-dict\n");
    serve_writer_add(writer, "free-list ::= \"[\" (free (\",\" free)*)? \"]\"\n");
    serve_writer_add(writer, "free-dict ::= \"{\" (entry (\",\" entry)*)? \"}\"\n");
    serve_writer_add(writer, "entry ::= [^{}:,<\\[\\]\\x00-\\x1F]+ \":\" free\n");
}
