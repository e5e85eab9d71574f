#include "cli/serve/calls/serve_python.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 50 };

static cJSON *read_value(const char **at, const char *end, int depth);

static void skip_white(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at)) {
        (*at)++;
    }
}

static bool take(const char **at, const char *end, char wanted)
{
    skip_white(at, end);
    const bool is_there = *at < end && **at == wanted;
    *at += is_there;
    return is_there;
}

//-- texts -----------------------------------------------------------------------------------------

// True if a quote ends a text: models do not always escape those within.
static bool is_end(const char *at, const char *end)
{
    skip_white(&at, end);
    return at == end || strchr(",)]}:", *at);
}

// Takes so many hexadecimal digits; false if they are not there.
static bool take_digits(const char **at, const char *end, size_t n, uint32_t *code)
{
    char digits[9] = {0};
    if ((size_t)(end - *at) < n) {
        return false;
    }
    memcpy(digits, *at, n);
    if (strspn(digits, "0123456789abcdefABCDEF") < n) {
        return false;
    }
    *code = (uint32_t)strtoul(digits, NULL, 16);
    *at += n;
    return true;
}

// Takes the code of a character in so many digits, or in two halves as JSON has it; false if it is
// none of a text.
static bool take_code(const char **at, const char *end, size_t n, struct cli_bytes *text)
{
    const char *after = *at;
    char bytes[4];
    uint32_t code = 0, low = 0;
    if (!take_digits(&after, end, n, &code)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00 && end - after > 2 && memcmp(after, "\\u", 2) == 0) {
        after += 2;
        if (!take_digits(&after, end, 4, &low) || low < 0xdc00 || low >= 0xe000) {
            return false;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return false;
    }
    *at = after;
    cli_bytes_append(text, bytes, cli_utf8_encode(code, bytes));
    return true;
}

// Takes what follows a backslash; what is no escape stays as it is.
static void take_escape(const char **at, const char *end, struct cli_bytes *text)
{
    static const char letters[] = "ntr\"'\\/bf", codes[] = "\n\t\r\"'\\/\b\f";
    const char letter = **at;
    const char *found = strchr(letters, letter);
    const size_t n = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const char *after = *at + 1;
    if (letter && found) {
        cli_bytes_append(text, &codes[found - letters], 1);
        *at = after;
    } else if (n > 0 && take_code(&after, end, n, text)) {
        *at = after;
    } else {
        cli_bytes_append(text, "\\", 1);
    }
}

static cJSON *read_text(const char **at, const char *end)
{
    struct cli_bytes text = {0};
    cJSON *json = NULL;
    const char quote = *(*at)++;
    cli_bytes_append(&text, "", 0);
    while (*at < end && !json) {
        const char byte = *(*at)++;
        if (byte == quote && is_end(*at, end)) {
            json = cJSON_CreateString(text.data);
        } else if (byte == '\\' && *at < end) {
            take_escape(at, end, &text);
        } else {
            cli_bytes_append(&text, &byte, 1);
        }
    }
    cli_bytes_finish(&text);
    return json;
}

//-- other values ----------------------------------------------------------------------------------

static cJSON *read_word(const char **at, const char *end)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {{"True", cJSON_True},   {"true", cJSON_True}, {"False", cJSON_False},
                 {"false", cJSON_False}, {"None", cJSON_NULL}, {"null", cJSON_NULL}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t n = strlen(words[i].word);
        if ((size_t)(end - *at) >= n && memcmp(*at, words[i].word, n) == 0) {
            *at += n;
            return words[i].type == cJSON_NULL ? cJSON_CreateNull()
                                               : cJSON_CreateBool(words[i].type == cJSON_True);
        }
    }
    size_t n = 0;
    while (*at + n < end && (*at)[n] && strchr("+-.0123456789Ee", (*at)[n])) {
        n++;
    }
    cJSON *number = cli_json_parse_all(*at, n, NULL);
    *at += number ? n : 0;
    return number;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_NESTING
static cJSON *read_list(const char **at, const char *end, int depth)
{
    const char close = *(*at)++ == '[' ? ']' : ')';
    cJSON *list = cJSON_CreateArray();
    while (!take(at, end, close)) {
        cJSON *item = read_value(at, end, depth + 1);
        cJSON_AddItemToArray(list, item);
        if (!item || (!take(at, end, ',') && !(*at < end && **at == close))) {
            cJSON_Delete(list);
            return NULL;
        }
    }
    return list;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *read_dictionary(const char **at, const char *end, int depth)
{
    cJSON *object = cJSON_CreateObject();
    (*at)++;
    while (!take(at, end, '}')) {
        cJSON *key = read_value(at, end, depth + 1);
        cJSON *value =
            cJSON_IsString(key) && take(at, end, ':') ? read_value(at, end, depth + 1) : NULL;
        const bool is_read = value != NULL;
        if (is_read) {
            cli_json_set(object, key->valuestring, value);
        }
        cJSON_Delete(key);
        if (!is_read || (!take(at, end, ',') && !(*at < end && **at == '}'))) {
            cJSON_Delete(object);
            return NULL;
        }
    }
    return object;
}

// NOLINTNEXTLINE(misc-no-recursion)
static cJSON *read_value(const char **at, const char *end, int depth)
{
    skip_white(at, end);
    if (*at == end || depth > MAX_NESTING) {
        return NULL;
    }
    switch (**at) {
    case '"':
    case '\'':
        return read_text(at, end);
    case '[':
    case '(':
        return read_list(at, end, depth);
    case '{':
        return read_dictionary(at, end, depth);
    default:
        return read_word(at, end);
    }
}

cJSON *serve_read_python(const char **at, const char *end)
{
    return read_value(at, end, 0);
}

//-- write -----------------------------------------------------------------------------------------

// NOLINTNEXTLINE(misc-no-recursion): as deep as the reader of JSON allows
void serve_write_python(const cJSON *value, struct cli_bytes *text)
{
    const cJSON *item;
    if (cJSON_IsBool(value) || cJSON_IsNull(value)) {
        const char *word = cJSON_IsNull(value) ? "None" : cJSON_IsTrue(value) ? "True" : "False";
        cli_bytes_append(text, word, strlen(word));
    } else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        const bool is_list = cJSON_IsArray(value);
        cli_bytes_append(text, is_list ? "[" : "{", 1);
        cJSON_ArrayForEach(item, value)
        {
            cJSON *key = is_list ? NULL : cJSON_CreateString(item->string);
            cli_bytes_append(text, ", ", item == value->child ? 0 : 2);
            if (key) {
                serve_write_python(key, text);
                cli_bytes_append(text, ": ", 2);
            }
            serve_write_python(item, text);
            cJSON_Delete(key);
        }
        cli_bytes_append(text, is_list ? "]" : "}", 1);
    } else {
        char *json = cJSON_PrintUnformatted(value);
        cli_bytes_append(text, json ? json : "None", strlen(json ? json : "None"));
        cJSON_free(json);
    }
}
