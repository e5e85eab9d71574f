#include "cli/serve/calls/serve_arguments.h"

#include "cli/common/cli_json_read.h"
#include "cli/common/cli_memory.h"
#include "cli/serve/calls/serve_schemas.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_DEPTH = 10,  // of schemas in Gemma's notation; deeper values may be anything
    MAX_ITEMS = 100, // of a list that are counted
};

//-- names -----------------------------------------------------------------------------------------

// Names, sorted.
struct names {
    const char **items; // owned; the texts are borrowed
    size_t count;
};

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

// Returns the strings of a list, such as "required", sorted; list may be NULL.
static struct names sort_names(const cJSON *list)
{
    struct names names = {
        .items = cli_alloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(const char *))};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item)) {
            names.items[names.count++] = item->valuestring;
        }
    }
    qsort(names.items, names.count, sizeof(*names.items), compare_names);
    return names;
}

static bool have_name(const struct names *names, const char *name)
{
    return bsearch(&name, names->items, names->count, sizeof(*names->items), compare_names);
}

//-- strings ---------------------------------------------------------------------------------------

// Appends the choices of a string as alternatives in quotes, after `first`; returns false if its
// schema has none. Choices that the quotes would have to escape are left out.
static bool write_choices(struct serve_writer *writer, const cJSON *schema, const char *first,
                          const char *quote)
{
    const cJSON *list = cli_json_get(schema, "enum"), *item;
    bool is_choice = false;
    list = cJSON_IsArray(list) ? list : NULL;
    for (item = list ? list->child : cli_json_get(schema, "const"); item;
         item = list ? item->next : NULL) {
        is_choice = is_choice || cJSON_IsString(item);
        if (cJSON_IsString(item) && !(quote[0] && strpbrk(item->valuestring, "\\'\n\r"))) {
            serve_writer_add(writer, "%s\"%s", first, quote);
            serve_writer_escape(writer, item->valuestring, strlen(item->valuestring));
            serve_writer_add(writer, "%s\" ", quote);
            first = "| ";
        }
    }
    return is_choice;
}

// Writes the rules of strings without `end`, whose first byte comes in it once: rule text-I is what
// may follow after the first I bytes of it.
static void write_text_rules(struct serve_writer *writer, const char *end, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        serve_writer_add(writer, "text-%zu ::= ", i);
        if (i > 0 && i + 1 < n) {
            serve_writer_add(writer, "\"");
            serve_writer_escape(writer, end + i, 1);
            serve_writer_add(writer, "\" text-%zu | ", i + 1);
        }
        serve_writer_add(writer, "\"");
        serve_writer_escape(writer, end, 1);
        serve_writer_add(writer, "\" text-%d | [^", n > 1 ? 1 : 0);
        serve_writer_escape(writer, end, 1);
        if (i > 0) {
            serve_writer_escape(writer, end + i, 1);
        }
        serve_writer_add(writer, "] text-0 | \"\"\n");
    }
}

static void write_tagged_value(struct serve_writer *writer, const cJSON *schema, const cJSON *root)
{
    if (!serve_is_text(schema, root)) {
        serve_writer_json(writer, schema, root);
    } else if (write_choices(writer, schema, "(", "")) {
        serve_writer_add(writer, ") ");
    } else {
        serve_writer_add(writer, "text-0 ");
    }
}

static void write_python_value(struct serve_writer *writer, const cJSON *schema, const cJSON *root)
{
    const char *type = cli_json_get_text(schema, "type");
    serve_writer_add(writer, "(");
    serve_writer_json(writer, schema, root);
    if (type && strcmp(type, "boolean") == 0) {
        serve_writer_add(writer, "| \"True\" | \"False\" ");
    } else if (type && strcmp(type, "string") == 0 && !write_choices(writer, schema, "| ", "'")) {
        serve_writer_add(writer, "| quoted ");
    }
    serve_writer_add(writer, ") ");
}

//-- Gemma's values --------------------------------------------------------------------------------

static void write_properties(struct serve_writer *writer, const cJSON *schema, const cJSON *root,
                             int depth);
static void write_gemma_value(struct serve_writer *writer, const cJSON *schema, const cJSON *root,
                              int depth);

static bool has_properties(const cJSON *schema)
{
    const cJSON *properties = cli_json_get(schema, "properties");
    return cJSON_IsObject(properties) && properties->child;
}

// Appends one of the values that a schema lists.
static void write_constant(struct serve_writer *writer, const cJSON *value)
{
    if (cJSON_IsString(value) && !strstr(value->valuestring, writer->style->quote)) {
        serve_writer_add(writer, "quote \"");
        serve_writer_escape(writer, value->valuestring, strlen(value->valuestring));
        serve_writer_add(writer, "\" quote ");
    } else if (cJSON_IsString(value) || cJSON_IsArray(value) || cJSON_IsObject(value)) {
        serve_writer_add(writer, "any ");
    } else {
        char *text = cJSON_PrintUnformatted(value);
        serve_writer_add(writer, "\"%s\" ", text ? text : "null");
        cJSON_free(text);
    }
}

// Returns a limit of the number of items; the fallback if it is missing or too large.
static int limit_of(const cJSON *schema, const char *name, int fallback)
{
    int64_t limit;
    return cli_json_int(cli_json_get(schema, name), &limit) && limit >= 0 && limit <= MAX_ITEMS
               ? (int)limit
               : fallback;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_DEPTH
static void write_list(struct serve_writer *writer, const cJSON *schema, const cJSON *root,
                       int depth)
{
    const cJSON *items = cli_json_get(schema, "items");
    const int most = limit_of(schema, "maxItems", -1), least = limit_of(schema, "minItems", 0);
    const size_t id = writer->n_rules++;
    if (most == 0) {
        serve_writer_add(writer, "\"[]\" ");
        return;
    }
    struct cli_bytes outer = serve_writer_begin(writer);
    serve_writer_add(writer, "value-%zu ::= ", id);
    write_gemma_value(writer, cJSON_IsObject(items) ? items : NULL, root, depth + 1);
    serve_writer_end(writer, outer);
    serve_writer_add(writer, "\"[\" (value-%zu (\",\" value-%zu){%d,", id, id,
                     least > 1 ? least - 1 : 0);
    if (most >= least) {
        serve_writer_add(writer, "%d", most - 1);
    }
    serve_writer_add(writer, "})%s \"]\" ", least > 0 ? "" : "?");
}

// NOLINTNEXTLINE(misc-no-recursion)
static void write_type(struct serve_writer *writer, const cJSON *schema, const char *type,
                       const cJSON *root, int depth)
{
    if (strcmp(type, "array") == 0) {
        write_list(writer, schema, root, depth);
    } else if (strcmp(type, "string") == 0) {
        serve_writer_add(writer, "quoted ");
    } else if ((strcmp(type, "object") == 0 || !type[0]) && has_properties(schema)) {
        serve_writer_add(writer, "\"{\" ");
        write_properties(writer, schema, root, depth + 1);
        serve_writer_add(writer, "\"}\" ");
    } else if (strcmp(type, "object") == 0) {
        serve_writer_add(writer, "\"{\" free \"}\" ");
    } else if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0 ||
               strcmp(type, "boolean") == 0 || strcmp(type, "null") == 0) {
        cJSON *own = cJSON_Duplicate(schema, 1);
        cJSON_DeleteItemFromObjectCaseSensitive(own, "type");
        cJSON_AddStringToObject(own, "type", type);
        serve_writer_json(writer, own, root);
        cJSON_Delete(own);
    } else {
        serve_writer_add(writer, "any ");
    }
}

// Appends the types of a list, each once, however often it is listed: each may add a rule.
// NOLINTNEXTLINE(misc-no-recursion)
static void write_types(struct serve_writer *writer, const cJSON *schema, const cJSON *list,
                        const cJSON *root, int depth)
{
    static const char *const types[] = {"integer", "number", "boolean", "null",
                                        "array",   "object", "string"};
    struct names listed = sort_names(list);
    const char *between = "(";
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (have_name(&listed, types[i])) {
            serve_writer_add(writer, "%s", between);
            write_type(writer, schema, types[i], root, depth);
            between = "| ";
        }
    }
    serve_writer_add(writer, between[0] == '(' ? "any " : ") ");
    free(listed.items);
}

// Appends a value of a schema; a schema that is NULL allows any.
// NOLINTNEXTLINE(misc-no-recursion)
static void write_gemma_value(struct serve_writer *writer, const cJSON *schema, const cJSON *root,
                              int depth)
{
    const cJSON *type = cli_json_get(schema, "type"), *constant = cli_json_get(schema, "const");
    const cJSON *values = cli_json_get(schema, "enum"), *any = cli_json_get(schema, "anyOf"), *item;
    const cJSON *list = cJSON_IsArray(values) && values->child ? values
                        : any                                  ? any
                                                               : cli_json_get(schema, "oneOf");
    if (depth > MAX_DEPTH) {
        serve_writer_add(writer, "any ");
    } else if (constant) {
        write_constant(writer, constant);
    } else if (cJSON_IsArray(list) && list->child) {
        cJSON_ArrayForEach(item, list)
        {
            serve_writer_add(writer, item == list->child ? "(" : "| ");
            if (list == values) {
                write_constant(writer, item);
            } else {
                write_gemma_value(writer, item, root, depth + 1);
            }
        }
        serve_writer_add(writer, ") ");
    } else if (cJSON_IsArray(type) && type->child) {
        write_types(writer, schema, type, root, depth);
    } else {
        write_type(writer, schema, cJSON_IsString(type) ? type->valuestring : "", root, depth);
    }
}

//-- arguments -------------------------------------------------------------------------------------

static int compare_properties(const void *left, const void *right)
{
    const cJSON *const *a = left, *const *b = right;
    const int order = strcasecmp((*a)->string, (*b)->string);
    return order ? order : strcmp((*a)->string, (*b)->string);
}

// Returns the properties of a schema in the order of calls; the caller frees the list.
static const cJSON **list_properties(const struct serve_writer *writer, const cJSON *schema,
                                     size_t *n)
{
    const cJSON *all = cli_json_get(schema, "properties"), *item;
    const cJSON **list = cli_alloc((size_t)cJSON_GetArraySize(all) + 1, sizeof(const cJSON *));
    *n = 0;
    cJSON_ArrayForEach(item, all)
    {
        list[(*n)++] = item;
    }
    if (writer->style->notation == SERVE_NOTATION_GEMMA) {
        qsort(list, *n, sizeof(*list), compare_properties);
    }
    return list;
}

// Appends keys with their values. Rules rest-R-I-0 and rest-R-I-1 are what may stand from property
// I on, after none and after others; a property that is not required may be left out.
// NOLINTNEXTLINE(misc-no-recursion)
static void write_properties(struct serve_writer *writer, const cJSON *schema, const cJSON *root,
                             int depth)
{
    const struct serve_call_style *style = writer->style;
    const size_t rule = writer->n_rules++;
    size_t n;
    const cJSON **properties = list_properties(writer, schema, &n);
    struct names required = sort_names(cli_json_get(schema, "required"));
    struct cli_bytes outer = serve_writer_begin(writer);
    for (size_t i = 0; i < n; i++) {
        const bool is_required = have_name(&required, properties[i]->string);
        for (int k = 0; k < 2; k++) {
            serve_writer_add(writer, "rest-%zu-%zu-%d ::= ", rule, i, k);
            serve_writer_pattern(writer, k > 0 ? style->separator : NULL);
            serve_writer_add(writer, "entry-%zu-%zu rest-%zu-%zu-1", rule, i, rule, i + 1);
            if (!is_required) {
                serve_writer_add(writer, " | rest-%zu-%zu-%d", rule, i + 1, k);
            }
            serve_writer_add(writer, "\n");
        }
        serve_writer_add(writer, "entry-%zu-%zu ::= ", rule, i);
        serve_writer_pattern(writer, style->key);
        serve_writer_text(writer, properties[i]->string);
        serve_writer_pattern(writer, style->key_end);
        if (style->notation == SERVE_NOTATION_TAGS) {
            write_tagged_value(writer, properties[i], root);
        } else if (style->notation == SERVE_NOTATION_PYTHON) {
            write_python_value(writer, properties[i], root);
        } else {
            write_gemma_value(writer, properties[i], root, depth);
        }
        serve_writer_pattern(writer, style->value_end);
        serve_writer_add(writer, "\n");
    }
    serve_writer_add(writer, "rest-%zu-%zu-0 ::= \"\"\nrest-%zu-%zu-1 ::= \"\"", rule, n, rule, n);
    serve_writer_end(writer, outer);
    serve_writer_add(writer, "rest-%zu-0-0 ", rule);
    free(required.items);
    free(properties);
}

void serve_write_arguments(struct serve_writer *writer, const cJSON *parameters)
{
    if (writer->style->notation == SERVE_NOTATION_JSON) {
        serve_writer_json(writer, parameters, parameters);
    } else if (has_properties(parameters)) {
        write_properties(writer, parameters, parameters, 0);
    } else {
        serve_writer_add(writer, "free ");
    }
}

void serve_write_argument_rules(struct serve_writer *writer)
{
    const struct serve_call_style *style = writer->style;
    const bool is_gemma = style->notation == SERVE_NOTATION_GEMMA;
    const char *key = is_gemma ? "[^{}:,<\\[\\]\\x00-\\x1F]" : "[a-zA-Z0-9_.]";
    struct cli_bytes outer = serve_writer_begin(writer);
    switch (style->notation) {
    case SERVE_NOTATION_JSON:
        serve_writer_end(writer, outer);
        return;
    case SERVE_NOTATION_TAGS: {
        const char *tag = style->value_end + strspn(style->value_end, "\n");
        write_text_rules(writer, tag, strcspn(tag, "\n"));
        serve_writer_add(writer, "any ::= text-0\n");
        break;
    }
    case SERVE_NOTATION_PYTHON:
        serve_writer_add(writer, "quoted ::= \"'\" [^'\\\\\\x00-\\x1F]* \"'\"\nany ::= ");
        serve_writer_json(writer, NULL, NULL);
        serve_writer_add(writer, "\n");
        break;
    case SERVE_NOTATION_GEMMA:
        write_text_rules(writer, style->quote, strlen(style->quote));
        serve_writer_add(writer, "quote ::= ");
        serve_writer_text(writer, style->quote);
        serve_writer_add(writer, "\nquoted ::= quote text-0 quote\nany ::= quoted | ");
        serve_writer_add(writer, "\"-\"? [0-9]+ (\".\" [0-9]+)? ([eE] [-+]? [0-9]+)? | ");
        serve_writer_add(writer, "\"true\" | \"false\" | \"null\" | \"{\" free \"}\" | ");
        serve_writer_add(writer, "\"[\" (any (\",\" any)*)? \"]\"\n");
    }
    // Arguments of any names, for tools without properties.
    serve_writer_add(writer, "free-entry ::= ");
    serve_writer_pattern(writer, style->key);
    serve_writer_add(writer, "%s+ ", key);
    serve_writer_pattern(writer, style->key_end);
    serve_writer_add(writer, "any ");
    serve_writer_pattern(writer, style->value_end);
    serve_writer_add(writer, "\nfree ::= (free-entry (");
    serve_writer_pattern(writer, style->separator);
    serve_writer_add(writer, "free-entry)*)?");
    serve_writer_end(writer, outer);
}
