#include "cli/serve/calls/serve_calls.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_random.h"
#include "cli/serve/calls/serve_schemas.h"
#include "cli/serve/calls/serve_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- where calls begin -----------------------------------------------------------------------------

static size_t find_text(const char *text, size_t size, const char *wanted)
{
    const char *found = wanted && size > 0 ? memmem(text, size, wanted, strlen(wanted)) : NULL;
    return found ? (size_t)(found - text) : size;
}

// Returns how many bytes at the end of a text may be the beginning of another.
static size_t count_held(const char *text, size_t size, const char *begun)
{
    const size_t n = begun ? strlen(begun) : 0;
    for (size_t held = size < n ? size : n > 0 ? n - 1 : 0; held > 0; held--) {
        if (memcmp(text + size - held, begun, held) == 0) {
            return held;
        }
    }
    return 0;
}

size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size)
{
    const char *const *triggers = style->triggers;
    const size_t found = find_text(text, find_text(text, size, triggers[0]), triggers[1]);
    if (found < size) {
        return found;
    }
    const size_t first = count_held(text, size, triggers[0]);
    const size_t second = count_held(text, size, triggers[1]);
    return size - (first > second ? first : second);
}

size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size)
{
    const size_t n = serve_count_shown(style, text, size);
    return size - n == 1 && n > 0 ? size : n;
}

//-- a call ----------------------------------------------------------------------------------------

struct reader {
    const struct serve_call_style *style;
    const cJSON *tools;
    struct serve_input in;
    cJSON *calls;
    bool is_growing; // more text follows: the beginning of a call that does not end is read
    bool is_open;    // the last argument is a string that does not end yet
};

// Adds a call with size bytes of its arguments.
static void add_call(struct reader *reader, const char *name, const char *arguments, size_t size)
{
    enum { ID_SIZE = 24 };
    char id[ID_SIZE + 1], own[sizeof("call_") + ID_SIZE];
    cJSON *call = cli_json_append(reader->calls);
    struct cli_bytes text = {0};
    cli_bytes_append(&text, arguments, size);
    cli_random_letters(id, reader->style->id_size ? reader->style->id_size : ID_SIZE);
    snprintf(own, sizeof(own), "%s%s", reader->style->id_size ? "" : "call_", id);
    cJSON_AddStringToObject(call, "id", own);
    cJSON_AddStringToObject(call, "type", "function");
    cJSON *function = cJSON_AddObjectToObject(call, "function");
    cJSON_AddStringToObject(function, "name", name);
    cJSON_AddStringToObject(function, "arguments", text.data);
    cli_bytes_finish(&text);
}

// Adds a call and takes the arguments over. A call that is not whole is added only while the text
// grows. Returns false if the call is not whole or its arguments are not an object.
static bool add_object(struct reader *reader, const char *name, cJSON *arguments, bool is_whole)
{
    const bool is_call = cJSON_IsObject(arguments) && (is_whole || reader->is_growing);
    char *text = is_call ? cJSON_PrintUnformatted(arguments) : NULL;
    if (text) { // the brace at the end, and a quote before it, come later
        add_call(reader, name, text, strlen(text) - (is_whole ? 0 : reader->is_open ? 2 : 1));
    }
    cJSON_free(text);
    cJSON_Delete(arguments);
    return is_call && is_whole;
}

static bool take_one(struct serve_input *in, const char *const *texts)
{
    for (; *texts; texts++) {
        if (serve_take(in, *texts)) {
            return true;
        }
    }
    return false;
}

// Takes the name of a tool; NULL if it is empty. The caller frees it.
static char *take_name(struct serve_input *in)
{
    struct cli_bytes text = {0};
    const size_t n = serve_count_name(in->at, (size_t)(in->end - in->at));
    cli_bytes_append(&text, in->at, n);
    in->at += n;
    if (n == 0) {
        cli_bytes_finish(&text);
    }
    return text.data;
}

//-- JSON ------------------------------------------------------------------------------------------

// Appends an object without its white space; returns false if the text ends before the object does.
static bool copy_object(struct serve_input *in, struct cli_bytes *object)
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

// Reads an object with the arguments of a call, which are passed on with all digits. Returns false
// if it is not whole.
static bool read_object(struct reader *reader, struct serve_input *in, const char *name)
{
    struct cli_bytes text = {0};
    serve_skip_white(in);
    const bool is_object = in->at < in->end && *in->at == '{';
    const bool is_whole = is_object && copy_object(in, &text);
    cJSON *json = is_whole ? cli_json_parse_all(text.data, text.size, NULL) : NULL;
    const bool is_call = json != NULL;
    if (is_call || (is_object && !is_whole && reader->is_growing)) {
        add_call(reader, name, text.data, text.size);
    }
    cJSON_Delete(json);
    cli_bytes_finish(&text);
    return is_call;
}

// Reads a call that is an object: its arguments may be begun if they come after the name; else its
// members are read when it is whole.
static bool read_json(struct reader *reader)
{
    const struct serve_call_style *style = reader->style;
    struct serve_input *in = &reader->in, inner = *in;
    const char *rest = in->at;
    const size_t left = (size_t)(in->end - in->at);
    cJSON *first = take_one(&inner, style->heads)
                       ? cli_json_parse(inner.at, (size_t)(inner.end - inner.at), &inner.at)
                       : NULL;
    const char *name = cJSON_GetStringValue(first);
    cJSON *json = cli_json_parse(in->at, left, &rest);
    bool is_call = cJSON_IsObject(json);
    if (name && *name && take_one(&inner, style->opens)) {
        is_call = (is_call || reader->is_growing) && read_object(reader, &inner, name) && is_call;
    } else if (is_call) {
        name = cli_json_get_text(json, "name");
        is_call = name && *name &&
                  add_object(reader, name,
                             cJSON_DetachItemFromObjectCaseSensitive(json, style->arguments), true);
    }
    in->at = is_call ? rest : in->at;
    cJSON_Delete(first);
    cJSON_Delete(json);
    return is_call;
}

//-- arguments by themselves -----------------------------------------------------------------------

// Returns true if text begins with one of the signs after white space.
static bool begins_with(struct serve_input in, const char *signs)
{
    serve_skip_white(&in);
    return in.at < in.end && strchr(signs, *in.at);
}

// Takes a value, such as JSON with a tag in a string, and the tag after it; NULL if either is
// missing.
static cJSON *take_tagged_value(struct reader *reader)
{
    struct serve_input next = reader->in;
    cJSON *value = serve_take_value(&next, NULL);
    if (value && serve_take(&next, reader->style->value_end)) {
        reader->in = next;
        return value;
    }
    cJSON_Delete(value);
    return NULL;
}

// Takes the text of a value up to the tag after it, without the newlines that belong to the tags.
// While the text grows, a string may be open: then the bytes that may begin the tag are left out.
// Returns NULL without a value; the caller frees the text.
static char *take_tagged_text(struct reader *reader, bool is_string)
{
    static const char begin[] = "<![CDATA[", end[] = "]]>";
    const size_t n_begin = strlen(begin), n_end = strlen(end);
    const struct serve_call_style *style = reader->style;
    struct serve_input *in = &reader->in;
    if (strchr(style->key_end, '\n') && in->at < in->end && *in->at == '\n') {
        in->at++;
    }
    char *text = serve_take_up_to(in, style->value_end);
    size_t n = text ? strlen(text) : 0;
    if (!text && is_string && reader->is_growing) {
        const size_t left = (size_t)(in->end - in->at);
        const size_t n_lined = count_held(in->at, left, style->value_end);
        const size_t n_tag =
            count_held(in->at, left, style->value_end + strspn(style->value_end, "\n"));
        struct cli_bytes open = {0};
        n = left - (n_lined > n_tag ? n_lined : n_tag);
        cli_bytes_append(&open, in->at, n);
        reader->is_open = n > 0 && strncmp(open.data, begin, n < n_begin ? n : n_begin) != 0;
        if (!reader->is_open) {
            cli_bytes_finish(&open);
        }
        return open.data;
    }
    if (n > 0 && style->value_end[0] == '\n' && text[n - 1] == '\n') {
        text[--n] = 0;
    }
    if (n >= n_begin + n_end && strncmp(text, begin, n_begin) == 0 &&
        strcmp(text + n - n_end, end) == 0) {
        n -= n_begin + n_end;
        memmove(text, text + n_begin, n);
        text[n] = 0;
    }
    return text;
}

// Reads an argument between tags. Its value is a string if its schema allows one, or if the text is
// not another value; an unknown one may go on while the text grows.
static bool read_tagged(struct reader *reader, const cJSON *parameters, cJSON *arguments)
{
    const struct serve_call_style *style = reader->style;
    struct serve_input *in = &reader->in;
    char *key = serve_take(in, style->key) ? serve_take_up_to(in, style->key_end) : NULL;
    const cJSON *schema = key ? serve_find_parameter(parameters, key) : NULL;
    const bool is_string = schema && serve_is_text(schema, parameters);
    cJSON *value = key && !is_string ? take_tagged_value(reader) : NULL;
    const bool may_be_json = reader->is_growing && begins_with(reader->in, "\"'[{");
    if (key && !value && (is_string || !schema || !reader->is_growing)) {
        char *text = take_tagged_text(reader, is_string);
        const bool is_whole = is_string || !may_be_json || begins_with(reader->in, "<");
        value = text && is_whole ? cJSON_CreateString(text) : NULL;
        free(text);
    }
    const bool is_read = value && !reader->is_open;
    if (value && !cli_json_add_first(arguments, key, value)) {
        reader->is_open = false;
    }
    free(key);
    return is_read;
}

// Reads an argument; a value that may go on is not one. Of several with one name the first counts,
// since it may have been sent. Keys of Python are names, or are known to be keys of the tool.
static bool read_argument(struct reader *reader, const cJSON *parameters, cJSON *arguments)
{
    const struct serve_call_style *style = reader->style;
    const bool is_python = style->notation == SERVE_NOTATION_PYTHON;
    struct serve_input *in = &reader->in;
    serve_skip_white(in);
    char *key = serve_take_key(in, style->quote, is_python ? "=" : ":}");
    const bool is_key = key && (!is_python || serve_count_name(key, strlen(key)) == strlen(key) ||
                                serve_find_parameter(parameters, key));
    cJSON *value = is_key ? serve_take_value(in, style->quote) : NULL;
    serve_skip_white(in);
    const bool is_read = value && (serve_take(in, style->separator) ||
                                   (in->at < in->end && *in->at == style->close[0]));
    if (is_read) {
        cli_json_add_first(arguments, key, value);
    } else {
        cJSON_Delete(value);
    }
    free(key);
    return is_read;
}

//-- calls -----------------------------------------------------------------------------------------

static bool read_call(struct reader *reader)
{
    enum { MAX_MIDDLE = 100 };
    const struct serve_call_style *style = reader->style;
    const bool is_json = style->notation == SERVE_NOTATION_JSON;
    struct serve_input *in = &reader->in;
    if (!serve_take(in, style->begin)) {
        serve_take(in, style->triggers[0]); // before a call without the sign of a list
    }
    serve_take(in, style->before);
    serve_skip_white(in);
    if (style->is_json) {
        return read_json(reader);
    }
    char *name = take_one(in, style->heads) ? take_name(in) : NULL;
    bool is_read = name && (is_json || take_one(in, style->opens));
    if (name && is_json) { // other text may stand between the name and the JSON
        size_t i = 0;
        while (style->opens[i + 1]) {
            i++;
        }
        char *middle = serve_take_up_to(in, style->opens[i]);
        is_read = middle && strlen(middle) <= MAX_MIDDLE && read_object(reader, in, name);
        free(middle);
    } else if (is_read) {
        const cJSON *parameters = serve_find_parameters(reader->tools, name);
        cJSON *arguments = cJSON_CreateObject();
        while (is_read && !serve_take(in, style->close)) {
            is_read = style->notation == SERVE_NOTATION_TAGS
                          ? read_tagged(reader, parameters, arguments)
                          : read_argument(reader, parameters, arguments);
        }
        is_read = add_object(reader, name, arguments, is_read);
    }
    free(name);
    return is_read;
}

static cJSON *read_calls(struct reader reader)
{
    const struct serve_call_style *style = reader.style;
    reader.calls = cJSON_CreateArray();
    while (reader.in.at < reader.in.end && read_call(&reader)) {
        serve_take(&reader.in, style->after);
        if (!take_one(&reader.in, style->between)) {
            serve_take(&reader.in, style->end);
        }
    }
    if (cJSON_GetArraySize(reader.calls) == 0) {
        cJSON_Delete(reader.calls);
        return NULL;
    }
    return reader.calls;
}

cJSON *serve_read_calls(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        size_t size, size_t *shown)
{
    const size_t first = serve_count_shown(style, text, size);
    cJSON *list = read_calls(
        (struct reader){.style = style, .tools = tools, .in = {text + first, text + size}});
    *shown = list ? first : *shown;
    return list;
}

cJSON *serve_read_begun_calls(const struct serve_call_style *style, const cJSON *tools,
                              const char *text, size_t size)
{
    return read_calls((struct reader){
        .style = style, .tools = tools, .in = {text, text + size}, .is_growing = true});
}
