#include "cli/serve/calls/serve_values.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 50 };

//-- text ------------------------------------------------------------------------------------------

static bool is_white(char c)
{
    return c && strchr(" \t\r\n", c);
}

static char *copy(const char *text, size_t size)
{
    struct cli_bytes bytes = {0};
    cli_bytes_append(&bytes, text, size);
    return bytes.data;
}

void serve_skip_white(struct serve_input *in)
{
    while (in->at < in->end && is_white(*in->at)) {
        in->at++;
    }
}

bool serve_take(struct serve_input *in, const char *text)
{
    serve_skip_white(in);
    struct serve_input next = *in;
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '~' || is_white(*c)) {
            continue;
        }
        if (c > text && (c[-1] == '~' || is_white(c[-1]))) {
            serve_skip_white(&next);
        }
        if (next.at == next.end || *next.at++ != *c) {
            return false;
        }
    }
    *in = next;
    return true;
}

char *serve_take_up_to(struct serve_input *in, const char *end)
{
    size_t n = strlen(end);
    while (n > 0 && is_white(end[n - 1])) {
        n--;
    }
    for (; n > 0 && is_white(*end); n--) {
        end++;
    }
    const char *found = memmem(in->at, (size_t)(in->end - in->at), end, n);
    char *text = found ? copy(in->at, (size_t)(found - in->at)) : NULL;
    in->at = found ? found + n : in->at;
    return text;
}

// Takes the text before any of the signs, without white space at its end; NULL if it is empty.
static char *take_bare(struct serve_input *in, const char *signs)
{
    const char *begin = in->at;
    while (in->at < in->end && !strchr(signs, *in->at)) {
        in->at++;
    }
    size_t size = (size_t)(in->at - begin);
    while (size > 0 && is_white(begin[size - 1])) {
        size--;
    }
    return size > 0 ? copy(begin, size) : NULL;
}

char *serve_take_key(struct serve_input *in, const char *quote, const char *signs)
{
    const char sign[] = {signs[0], 0};
    char *key = quote && serve_take(in, quote) ? serve_take_up_to(in, quote) : take_bare(in, signs);
    if (key && !serve_take(in, sign)) {
        free(key);
        key = NULL;
    }
    return key;
}

//-- strings of Python -----------------------------------------------------------------------------

// Takes n hexadecimal digits; returns false if fewer follow.
static bool take_digits(struct serve_input *in, size_t n, uint32_t *code)
{
    char digits[9] = {0};
    if ((size_t)(in->end - in->at) < n) {
        return false;
    }
    memcpy(digits, in->at, n);
    *code = (uint32_t)strtoul(digits, NULL, 16);
    in->at += n;
    return strspn(digits, "0123456789abcdefABCDEF") == n;
}

// Takes a character code of n digits, or of two surrogates as in JSON; returns false if it is
// invalid.
static bool take_code(struct serve_input *in, size_t n, struct cli_bytes *text)
{
    uint32_t code = 0, low = 0;
    char bytes[4];
    if (!take_digits(in, n, &code)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00 && in->end - in->at > 2 && memcmp(in->at, "\\u", 2) == 0) {
        in->at += 2;
        if (!take_digits(in, 4, &low) || low < 0xdc00 || low >= 0xe000) {
            return false;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return false;
    }
    cli_bytes_append(text, bytes, cli_utf8_encode(code, bytes));
    return true;
}

// Takes the escape after a backslash; an unknown one leaves the backslash in the text.
static void take_escape(struct serve_input *in, struct cli_bytes *text)
{
    static const char letters[] = "ntr\"'\\/bf", codes[] = "\n\t\r\"'\\/\b\f";
    const char letter = *in->at, *found = letter ? strchr(letters, letter) : NULL;
    const size_t n = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    struct serve_input next = {in->at + 1, in->end};
    if (found) {
        cli_bytes_append(text, &codes[found - letters], 1);
        *in = next;
    } else if (n > 0 && take_code(&next, n, text)) {
        *in = next;
    } else {
        cli_bytes_append(text, "\\", 1);
    }
}

// Returns true if a quote before this place ends a string: models do not always escape quotes.
static bool is_end(struct serve_input in)
{
    serve_skip_white(&in);
    return in.at == in.end || strchr(",)]}:", *in.at) || serve_take(&in, "</");
}

static cJSON *take_quoted(struct serve_input *in)
{
    struct cli_bytes text = {0};
    cJSON *json = NULL;
    const char quote = *in->at++;
    cli_bytes_append(&text, "", 0);
    while (in->at < in->end && !json) {
        const char byte = *in->at++;
        if (byte == quote && is_end(*in)) {
            json = cJSON_CreateString(text.data);
        } else if (byte == '\\' && in->at < in->end) {
            take_escape(in, &text);
        } else {
            cli_bytes_append(&text, &byte, 1);
        }
    }
    cli_bytes_finish(&text);
    return json;
}

//-- values ----------------------------------------------------------------------------------------

static cJSON *take_nested(struct serve_input *in, const char *quote, int depth);

// Takes the text of a number, true, false or null as JSON; in Gemma's notation, any other text is a
// string.
static cJSON *take_word(struct serve_input *in, const char *quote)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    if (quote) {
        char *text = take_bare(in, ",]}");
        cJSON *value = text ? cli_json_parse_all(text, strlen(text), NULL) : NULL;
        value = text && !value ? cJSON_CreateString(text) : value;
        free(text);
        return value;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (serve_take(in, words[i][0]) || serve_take(in, words[i][1])) {
            return cJSON_Parse(words[i][1]);
        }
    }
    size_t n = 0;
    while (in->at + n < in->end && in->at[n] && strchr("+-.0123456789Ee", in->at[n])) {
        n++;
    }
    cJSON *number = cli_json_parse_all(in->at, n, NULL);
    in->at += number ? n : 0;
    return number;
}

// Takes the key of a dictionary and the colon after it. Returns NULL if it is not a string; the
// caller frees it.
// NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_NESTING
static char *take_nested_key(struct serve_input *in, const char *quote, int depth)
{
    if (quote) {
        return serve_take_key(in, quote, ":}");
    }
    cJSON *json = take_nested(in, quote, depth);
    char *key = cJSON_IsString(json) && serve_take(in, ":") ? cli_copy(json->valuestring) : NULL;
    cJSON_Delete(json);
    return key;
}

// Takes the rest of a list or a dictionary, whose first sign was taken; NULL if it does not end.
// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *take_items(struct serve_input *in, const char *quote, int depth, const char *close)
{
    const bool is_list = close[0] != '}';
    cJSON *items = is_list ? cJSON_CreateArray() : cJSON_CreateObject();
    bool is_right = true;
    while (is_right && !serve_take(in, close)) {
        char *key = is_list ? NULL : take_nested_key(in, quote, depth + 1);
        cJSON *item = is_list || key ? take_nested(in, quote, depth + 1) : NULL;
        is_right = item && (serve_take(in, ",") || (in->at < in->end && *in->at == close[0]));
        if (key && item) {
            cli_json_set(items, key, item);
        } else {
            cJSON_AddItemToArray(items, item);
        }
        free(key);
    }
    if (!is_right) {
        cJSON_Delete(items);
        items = NULL;
    }
    return items;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *take_nested(struct serve_input *in, const char *quote, int depth)
{
    const bool is_gemma = quote != NULL;
    serve_skip_white(in);
    if (in->at == in->end || depth > MAX_NESTING) {
        return NULL;
    }
    if (is_gemma && serve_take(in, quote)) {
        char *text = serve_take_up_to(in, quote);
        cJSON *value = text ? cJSON_CreateString(text) : NULL;
        free(text);
        return value;
    }
    if (!is_gemma && (*in->at == '"' || *in->at == '\'')) {
        return take_quoted(in);
    }
    return serve_take(in, "{")                ? take_items(in, quote, depth, "}")
           : serve_take(in, "[")              ? take_items(in, quote, depth, "]")
           : !is_gemma && serve_take(in, "(") ? take_items(in, quote, depth, ")")
                                              : take_word(in, quote);
}

cJSON *serve_take_value(struct serve_input *in, const char *quote)
{
    return take_nested(in, quote, 0);
}

//-- write -----------------------------------------------------------------------------------------

// NOLINTNEXTLINE(misc-no-recursion): as deep as the reader of JSON allows
void serve_write_python(const cJSON *value, struct cli_bytes *text)
{
    const cJSON *item;
    if (cJSON_IsBool(value) || cJSON_IsNull(value)) {
        const char *word = cJSON_IsNull(value) ? "None" : cJSON_IsTrue(value) ? "True" : "False";
        cli_bytes_add(text, word);
    } else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        const bool is_list = cJSON_IsArray(value);
        cli_bytes_append(text, is_list ? "[" : "{", 1);
        cJSON_ArrayForEach(item, value)
        {
            cli_bytes_append(text, ", ", item == value->child ? 0 : 2);
            if (!is_list) {
                cJSON *key = cJSON_CreateString(item->string);
                serve_write_python(key, text);
                cli_bytes_append(text, ": ", 2);
                cJSON_Delete(key);
            }
            serve_write_python(item, text);
        }
        cli_bytes_append(text, is_list ? "]" : "}", 1);
    } else {
        cli_append_json(text, value);
    }
}
