#include "cli/serve/calls/serve_calls.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_call_tools.h"
#include "cli/serve/calls/serve_gemma.h"
#include "cli/serve/calls/serve_python.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char white[] = " \t\r\n";

//-- where calls begin -----------------------------------------------------------------------------

static size_t find_text(const char *text, size_t size, const char *what)
{
    const char *found = what && size > 0 ? memmem(text, size, what, strlen(what)) : NULL;
    return found ? (size_t)(found - text) : size;
}

static size_t find_call(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t first = find_text(text, size, style->trigger);
    return find_text(text, first, style->other_trigger);
}

// Returns how many bytes at the end of a text may be the beginning of `what`.
static size_t count_held(const char *text, size_t size, const char *what)
{
    const size_t n = what ? strlen(what) : 0;
    for (size_t held = size < n ? size : n > 0 ? n - 1 : 0; held > 0; held--) {
        if (memcmp(text + size - held, what, held) == 0) {
            return held;
        }
    }
    return 0;
}

size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t found = find_call(style, text, size);
    if (found < size) {
        return found;
    }
    const size_t held = count_held(text, size, style->trigger);
    const size_t other = count_held(text, size, style->other_trigger);
    return size - (held > other ? held : other);
}

size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t n = serve_count_shown(style, text, size);
    return size - n == 1 && n > 0 ? size : n;
}

size_t serve_measure_mark(const struct serve_call_style *style, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(style->marks) / sizeof(style->marks[0]) && style->marks[i]; i++) {
        const size_t n = strlen(style->marks[i]);
        if (n <= size && memcmp(text, style->marks[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

bool serve_is_mark(const struct serve_call_style *style, const char *name, size_t size)
{
    return size > 0 && serve_measure_mark(style, name, size) == size;
}

//-- a call ----------------------------------------------------------------------------------------

// Adds an id of so many letters; 0: as OpenAI's are.
static void add_id(cJSON *call, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[24] = {0};
    char id[5 + sizeof(random) + 1] = "call_";
    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0) {
        memcpy(random, &call, sizeof(call)); // an id need only differ from others
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        id[5 + i] = letters[random[i] % 32];
    }
    cJSON_AddStringToObject(call, "id", size > 0 ? id + sizeof(id) - 1 - size : id);
}

// A text that calls are read from, from `at` to `end`.
struct source {
    const struct serve_call_style *style;
    const cJSON *tools;
    const char *at, *end;
    bool is_growing; // more text follows: the beginning of a call that does not end is read
    bool is_open;    // the last argument is a text that does not end
};

// Adds a call with size bytes of its arguments.
static void add_call(const struct source *in, cJSON *list, const char *name, const char *arguments,
                     size_t size)
{
    cJSON *call = cli_json_append(list);
    struct cli_bytes text = {0};
    cli_bytes_append(&text, arguments, size);
    add_id(call, in->style->id_size);
    cJSON_AddStringToObject(call, "type", "function");
    cJSON *function = cJSON_AddObjectToObject(call, "function");
    cJSON_AddStringToObject(function, "name", name);
    cJSON_AddStringToObject(function, "arguments", text.data);
    cli_bytes_finish(&text);
}

// Adds a call and takes the arguments over; one that is not whole is added only while the text
// grows. False if the call is not whole or has no name, or if the arguments are not an object.
static bool add_named(const struct source *in, cJSON *list, const char *name, cJSON *arguments,
                      bool is_whole)
{
    const bool is_call = name && *name && cJSON_IsObject(arguments) && (is_whole || in->is_growing);
    char *text = is_call ? cJSON_PrintUnformatted(arguments) : NULL;
    if (text) { // the brace at the end, and a quote before it, come later
        add_call(in, list, name, text, strlen(text) - (is_whole ? 0 : in->is_open ? 2 : 1));
    }
    cJSON_free(text);
    cJSON_Delete(arguments);
    return is_call && is_whole;
}

static void skip_white(struct source *in)
{
    while (in->at < in->end && strchr(white, *in->at)) {
        in->at++;
    }
}

// Skips white space, and `what` without the white space at its ends; false if it is not there.
static bool take(struct source *in, const char *what)
{
    skip_white(in);
    what += strspn(what, white);
    size_t n = strlen(what);
    while (n > 0 && strchr(white, what[n - 1])) {
        n--;
    }
    const bool is_there = (size_t)(in->end - in->at) >= n && memcmp(in->at, what, n) == 0;
    in->at += is_there ? n : 0;
    return is_there;
}

// Takes the text up to `what`, and that; NULL if it is not there. The caller frees it.
static char *take_up_to(struct source *in, const char *what)
{
    const size_t left = (size_t)(in->end - in->at), n = find_text(in->at, left, what);
    struct cli_bytes text = {0};
    if (n == left) {
        return NULL;
    }
    cli_bytes_append(&text, in->at, n);
    in->at += n + strlen(what);
    return text.data;
}

// Returns how many of the characters that names of tools are made of a text begins with.
static size_t count_name(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && text[n] && (isalnum((unsigned char)text[n]) || strchr("_-.", text[n]))) {
        n++;
    }
    return n;
}

bool serve_is_name(const char *text)
{
    enum { MAX_SIZE = 64 };
    const size_t n = strlen(text);
    return n > 0 && n <= MAX_SIZE && count_name(text, n) == n;
}

// Takes a name; NULL if there is none. The caller frees it.
static char *take_name(struct source *in)
{
    struct cli_bytes text = {0};
    const size_t n = count_name(in->at, (size_t)(in->end - in->at));
    if (n > 0) {
        cli_bytes_append(&text, in->at, n);
        in->at += n;
    }
    return text.data;
}

//-- forms -----------------------------------------------------------------------------------------

// Appends an object without its white space; false if the text ends before the object does.
static bool copy_object(struct source *in, struct cli_bytes *object)
{
    size_t depth = 0;
    bool is_quoted = false;
    while (in->at < in->end && (depth > 0 || object->size == 0)) {
        const unsigned char c = (unsigned char)*in->at++;
        char escaped[8];
        if (c <= (is_quoted ? 0x1f : 0x20)) {
            snprintf(escaped, sizeof(escaped), "\\u%04x", c);
            cli_bytes_append(object, escaped, is_quoted ? 6 : 0);
            continue;
        }
        cli_bytes_append(object, in->at - 1, 1);
        if (is_quoted && c == '\\' && in->at < in->end) {
            cli_bytes_append(object, in->at++, 1);
        }
        is_quoted = is_quoted != (c == '"');
        depth += !is_quoted && (c == '{' || c == '[');
        depth -= !is_quoted && (c == '}' || c == ']') && depth > 0;
    }
    return object->size > 0 && depth == 0;
}

// Takes an object with the arguments of a call, which are passed on as they are written. False if
// it is not whole.
static bool take_arguments(struct source *in, cJSON *list, const char *name)
{
    struct cli_bytes text = {0};
    skip_white(in);
    const bool is_object = in->at < in->end && *in->at == '{';
    const bool is_whole = is_object && copy_object(in, &text);
    cJSON *json = is_whole ? cli_json_parse_all(text.data, text.size, NULL) : NULL;
    const bool is_call = json != NULL;
    if (is_call || (is_object && !is_whole && in->is_growing)) {
        add_call(in, list, name, text.data, text.size);
    }
    cJSON_Delete(json);
    cli_bytes_finish(&text);
    return is_call;
}

// Takes the JSON of a call up to its arguments, if its name comes first; NULL if it does not. The
// caller deletes the name.
static cJSON *take_json_name(struct source *in)
{
    const char *rest = NULL;
    if (!take(in, "{") ||
        (take(in, "\"type\"") && !(take(in, ":") && take(in, "\"function\"") && take(in, ",")))) {
        return NULL;
    }
    cJSON *name = take(in, "\"name\"") && take(in, ":")
                      ? cli_json_parse(in->at, (size_t)(in->end - in->at), &rest)
                      : NULL;
    in->at = name ? rest : in->at;
    const char *text = cJSON_GetStringValue(name);
    if (!text || !text[0] || !take(in, ",") || !take(in, "\"") || !take(in, in->style->arguments) ||
        !take(in, "\"") || !take(in, ":")) {
        cJSON_Delete(name);
        return NULL;
    }
    return name;
}

// Adds the call that a JSON object is. A text that grows may end within its arguments.
static bool read_json_call(struct source *in, cJSON *list)
{
    const char *rest = in->at;
    struct source inner = *in;
    cJSON *name = take_json_name(&inner);
    cJSON *json = cli_json_parse(in->at, (size_t)(in->end - in->at), &rest);
    bool is_call = cJSON_IsObject(json);
    const char *text = cJSON_GetStringValue(name);
    if (text && (is_call || in->is_growing)) {
        is_call = take_arguments(&inner, list, text) && is_call;
    } else if (is_call) {
        cJSON *own = cJSON_GetObjectItemCaseSensitive(json, "name");
        cJSON *arguments = cJSON_DetachItemFromObjectCaseSensitive(json, in->style->arguments);
        is_call = add_named(in, list, cJSON_GetStringValue(own), arguments, true);
    }
    in->at = is_call ? rest : in->at;
    cJSON_Delete(name);
    cJSON_Delete(json);
    return is_call;
}

// Adds the call that the JSON is, or those of a list.
static bool read_json(struct source *in, cJSON *list)
{
    take(in, in->style->before);
    const bool is_list = in->style->is_list && take(in, "[");
    bool is_call;
    do {
        skip_white(in);
        is_call = read_json_call(in, list);
    } while (is_call && is_list && take(in, ","));
    if (is_list) {
        take(in, "]");
    }
    return is_call;
}

static bool read_named(struct source *in, cJSON *list)
{
    enum { MAX_MIDDLE = 100 };
    char *name = take(in, in->style->before) ? take_name(in) : NULL;
    char *middle = name ? take_up_to(in, in->style->opens) : NULL;
    const bool is_call = middle && strlen(middle) <= MAX_MIDDLE && take_arguments(in, list, name);
    free(name);
    free(middle);
    return is_call;
}

// Returns the value that stands between tags: a text, unless its schema asks for something else.
static cJSON *read_value(const struct source *in, const char *tool, const char *key, char *text)
{
    const cJSON *parameters = serve_find_parameters(in->tools, tool);
    const cJSON *schema = serve_find_parameter(parameters, key);
    cJSON *value = NULL;
    const char *at = text, *end = text + strlen(text);
    if (!schema || !serve_is_text(schema, parameters)) {
        value = serve_read_python(&at, end);
        if (value && at + strspn(at, white) < end) {
            cJSON_Delete(value);
            value = NULL;
        }
    }
    return value ? value : cJSON_CreateString(text);
}

// Takes a value up to the tag behind it, without the line ends that belong to the tags.
static char *take_value(struct source *in, const struct serve_call_tags *tags)
{
    static const char begin[] = "<![CDATA[", end[] = "]]>";
    char tag[32] = "";
    snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(tags->value_end + tags->is_lined, "\n"),
             tags->value_end + tags->is_lined);
    if (tags->is_lined && in->at < in->end && *in->at == '\n') {
        in->at++;
    }
    char *text = take_up_to(in, tag);
    size_t n = text ? strlen(text) : 0;
    if (tags->is_lined && n > 0 && text[n - 1] == '\n') {
        text[--n] = 0;
    }
    if (n >= strlen(begin) + strlen(end) && strncmp(text, begin, strlen(begin)) == 0 &&
        strcmp(text + n - strlen(end), end) == 0) {
        n -= strlen(begin) + strlen(end);
        memmove(text, text + strlen(begin), n);
        text[n] = 0;
    }
    return text;
}

// Copies the first line of the mark after a name.
static void set_close(const char *end, char close[8])
{
    snprintf(close, 8, "%.*s", (int)strcspn(end, "\n"), end);
}

// Takes a text that does not end yet, except bytes that may begin the tag after it; NULL if there
// is nothing. The caller frees it.
static char *take_open_text(struct source *in, const struct serve_call_tags *tags)
{
    static const char data[] = "<![CDATA[";
    const size_t left = (size_t)(in->end - in->at);
    const size_t n = left - count_held(in->at, left, tags->value_end);
    struct cli_bytes text = {0};
    if (n == 0 || strncmp(in->at, data, n < strlen(data) ? n : strlen(data)) == 0) {
        return NULL;
    }
    cli_bytes_append(&text, in->at, n);
    return text.data;
}

static bool read_parameter(struct source *in, const char *tool, cJSON *arguments)
{
    const struct serve_call_tags *tags = in->style->tags;
    char close[8] = "";
    set_close(tags->key_end, close);
    char *key = take_up_to(in, close);
    const cJSON *parameters = serve_find_parameters(in->tools, tool);
    const cJSON *schema = key ? serve_find_parameter(parameters, key) : NULL;
    char *text = key ? take_value(in, tags) : NULL;
    const bool is_read = text != NULL;
    if (!is_read && in->is_growing && schema && serve_is_text(schema, parameters)) {
        text = take_open_text(in, tags);
    }
    if (text) {
        const bool is_added = cli_json_add_first(arguments, key, read_value(in, tool, key, text));
        in->is_open = is_added && !is_read;
    }
    free(key);
    free(text);
    return is_read;
}

static bool read_tags(struct source *in, cJSON *list)
{
    const struct serve_call_tags *tags = in->style->tags;
    char close[8] = "";
    set_close(tags->name_end, close);
    take(in, in->style->before);
    char *name = take(in, tags->name) ? take_up_to(in, close) : NULL;
    cJSON *arguments = cJSON_CreateObject();
    bool is_read = name != NULL;
    while (is_read && !take(in, tags->end)) {
        is_read = take(in, tags->key) && read_parameter(in, name, arguments);
    }
    const bool is_call = add_named(in, list, name, arguments, is_read);
    free(name);
    return is_call;
}

bool serve_is_key(const struct serve_call_style *style, const char *text)
{
    const size_t n = strlen(text);
    const bool is_bare = n > 0 && !strchr(white, text[0]) && !strchr(white, text[n - 1]);
    char close[8] = "";
    switch (style->form) {
    case SERVE_CALL_TAGS:
        set_close(style->tags->key_end, close);
        return !strstr(text, close);
    case SERVE_CALL_PYTHON:
        return is_bare && !strchr(text, '=') && text[0] != ')' && text[0] != ',' && text[0] != ']';
    case SERVE_CALL_GEMMA:
        return is_bare && !strpbrk(text, ":}") && !strstr(text, SERVE_GEMMA_QUOTE);
    default:
        return true;
    }
}

// Takes what an argument is called, and the sign behind it; NULL if that is neither a name nor a
// parameter of the tool. The caller frees it.
static char *take_key(struct source *in, const char *tool)
{
    skip_white(in);
    char *key = take_up_to(in, "=");
    size_t n = key ? strlen(key) : 0;
    while (n > 0 && strchr(white, key[n - 1])) {
        key[--n] = 0;
    }
    if (key && (n == 0 || count_name(key, n) < n) &&
        !serve_find_parameter(serve_find_parameters(in->tools, tool), key)) {
        free(key);
        key = NULL;
    }
    return key;
}

static bool read_python_argument(struct source *in, const char *tool, cJSON *arguments)
{
    char *key = take_key(in, tool);
    cJSON *value = key ? serve_read_python(&in->at, in->end) : NULL;
    skip_white(in);
    const bool is_ended = !in->is_growing || (in->at < in->end && strchr(",)", *in->at));
    const bool is_read = value && is_ended;
    if (is_read) {
        cli_json_add_first(arguments, key, value); // pieces that were sent cannot change
    } else {
        cJSON_Delete(value);
    }
    free(key);
    take(in, ",");
    return is_read;
}

static bool read_python(struct source *in, cJSON *list)
{
    take(in, in->style->trigger);
    take(in, "[");
    take(in, ",");
    skip_white(in);
    char *name = take_name(in);
    bool is_read = name && take(in, "(");
    cJSON *arguments = is_read ? cJSON_CreateObject() : NULL;
    while (is_read && !take(in, ")")) {
        is_read = read_python_argument(in, name, arguments);
    }
    const bool is_call = add_named(in, list, name, arguments, is_read);
    free(name);
    if (is_call) {
        take(in, "]");
    }
    return is_call;
}

static bool read_gemma(struct source *in, cJSON *list)
{
    char *name = take(in, in->style->before) ? take_name(in) : NULL;
    bool is_whole = false;
    cJSON *arguments = name ? serve_read_gemma(&in->at, in->end, &is_whole) : NULL;
    const bool is_call = add_named(in, list, name, arguments, is_whole);
    free(name);
    return is_call;
}

static cJSON *read_calls(struct source in)
{
    const struct serve_call_style *style = in.style;
    static bool (*const readers[])(struct source * in, cJSON * list) = {
        [SERVE_CALL_JSON] = read_json,   [SERVE_CALL_NAMED] = read_named,
        [SERVE_CALL_TAGS] = read_tags,   [SERVE_CALL_PYTHON] = read_python,
        [SERVE_CALL_GEMMA] = read_gemma,
    };
    cJSON *list = cJSON_CreateArray();
    while (in.at < in.end && readers[style->form](&in, list)) {
        take(&in, style->form == SERVE_CALL_PYTHON && style->after[0] == ']' ? style->after + 1
                                                                             : style->after);
    }
    if (cJSON_GetArraySize(list) == 0) {
        cJSON_Delete(list);
        return NULL;
    }
    return list;
}

cJSON *serve_read_calls(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        size_t size, size_t *shown)
{
    const size_t first = serve_count_shown(style, text, size);
    cJSON *list =
        read_calls((struct source){style, tools, text + first, text + size, false, false});
    *shown = list ? first : *shown;
    return list;
}

cJSON *serve_read_begun_calls(const struct serve_call_style *style, const cJSON *tools,
                              const char *text, size_t size)
{
    return read_calls((struct source){style, tools, text, text + size, true, false});
}
