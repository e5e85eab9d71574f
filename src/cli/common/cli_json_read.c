#include "cli/common/cli_json_read.h"

#include "cli/common/cli_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

//-- numbers ---------------------------------------------------------------------------------------

static bool is_one_of(char byte, const char *set)
{
    return byte && strchr(set, byte);
}

// Returns the next number outside strings and sets *size to its bytes; NULL at the end.
static const char *find_number(const char *at, const char *end, size_t *size)
{
    bool is_quoted = false;
    for (; at < end && (is_quoted || !is_one_of(*at, "-0123456789")); at++) {
        is_quoted = is_quoted != (*at == '"');
        at += is_quoted && *at == '\\' && at + 1 < end;
    }
    *size = 0;
    while (at + *size < end && is_one_of(at[*size], "+-.0123456789Ee")) {
        ++*size;
    }
    return at < end ? at : NULL;
}

// Skips digits; false without a digit.
static bool skip_digits(const char **at, const char *end)
{
    const char *const begin = *at;
    while (*at < end && is_one_of(**at, "0123456789")) {
        ++*at;
    }
    return *at > begin;
}

// Returns true if size bytes are a number in JSON's syntax, which is narrower than that of strtod.
static bool is_number(const char *at, size_t size)
{
    const char *const end = at + size;
    at += *at == '-';
    const char *const first = at;
    bool is_right = skip_digits(&at, end) && (*first != '0' || at == first + 1);
    if (at < end && *at == '.') {
        at++;
        is_right = skip_digits(&at, end) && is_right;
    }
    if (at < end && is_one_of(*at, "eE")) {
        at++;
        at += at < end && is_one_of(*at, "+-");
        is_right = skip_digits(&at, end) && is_right;
    }
    return is_right && at == end;
}

// Parses the text with a 0 in place of each number: cJSON reads no more than 63 characters of one.
static cJSON *parse_without_numbers(const char *text, size_t size, const char **end)
{
    struct cli_bytes copy = {0};
    const char *number = text, *rest = NULL;
    size_t n = 0;
    cli_bytes_append(&copy, text, size);
    while ((number = find_number(number + n, text + size, &n))) {
        char *place = copy.data + (number - text);
        memset(place, ' ', n);
        *place = is_number(number, n) ? '0' : '?';
    }
    cJSON *json = cJSON_ParseWithLengthOpts(copy.data, size, &rest, false);
    *end = text + (rest ? rest - copy.data : 0);
    cli_bytes_finish(&copy);
    return json;
}

//-- values ----------------------------------------------------------------------------------------

// A walk over a value and all that it holds, in the order of the text.
struct walk {
    cJSON *parents[CJSON_NESTING_LIMIT + 1];
    size_t depth;
};

static cJSON *next_of(struct walk *walk, cJSON *item)
{
    if (item->child) {
        walk->parents[walk->depth++] = item;
        return item->child;
    }
    while (!item->next && walk->depth > 0) {
        item = walk->parents[--walk->depth];
    }
    return item->next;
}

static bool set_number(cJSON *item, const char *text, size_t size)
{
    item->valuestring = cJSON_malloc(size + 1);
    if (!item->valuestring) {
        return false;
    }
    memcpy(item->valuestring, text, size);
    item->valuestring[size] = 0;
    item->valuedouble = strtod(item->valuestring, NULL);
    item->type = cJSON_Raw;
    return true;
}

struct member {
    cJSON *item;
    size_t index;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int order = strcmp(a->item->string, b->item->string);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

// Deletes members that others of the same name follow.
static void drop_twins(cJSON *object)
{
    const size_t n = cJSON_IsObject(object) ? (size_t)cJSON_GetArraySize(object) : 0;
    struct member *members = n > 1 ? cli_alloc(n, sizeof(*members)) : NULL;
    cJSON *item = object->child;
    for (size_t i = 0; members && i < n; i++, item = item->next) {
        members[i] = (struct member){item, i};
    }
    if (members) {
        qsort(members, n, sizeof(*members), compare_members);
    }
    for (size_t i = 1; members && i < n; i++) {
        if (strcmp(members[i - 1].item->string, members[i].item->string) == 0) {
            cJSON_Delete(cJSON_DetachItemViaPointer(object, members[i - 1].item));
        }
    }
    free(members);
}

cJSON *cli_json_parse(const char *text, size_t size, const char **end)
{
    struct walk walk = {.depth = 0};
    const char *number = text;
    size_t n = 0;
    bool is_done = true;
    cJSON *json = parse_without_numbers(text, size, end);
    for (cJSON *item = json; item && is_done; item = next_of(&walk, item)) {
        if (cJSON_IsNumber(item)) {
            number = find_number(number + n, text + size, &n);
            is_done = number && set_number(item, number, n); // as many as the text has
            *end = item == json ? number + n : *end;
        }
    }
    walk.depth = 0;
    for (cJSON *item = json; item && is_done; item = next_of(&walk, item)) {
        drop_twins(item);
    }
    if (!is_done) {
        cJSON_Delete(json);
    }
    return is_done ? json : NULL;
}

cJSON *cli_json_parse_all(const char *text, size_t size, const char **end)
{
    const char *rest = text;
    cJSON *json = cli_json_parse(text, size, &rest);
    while (json && rest < text + size && is_one_of(*rest, " \t\r\n")) {
        rest++;
    }
    if (end) {
        *end = rest;
    }
    if (json && rest < text + size) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

//-- access ----------------------------------------------------------------------------------------

bool cli_json_is_number(const cJSON *item)
{
    return cJSON_IsNumber(item) || cJSON_IsRaw(item);
}

bool cli_json_int(const cJSON *item, int64_t *value)
{
    const double most = 0x1p53;
    if (!cli_json_is_number(item)) {
        return false;
    }
    if (item->valuestring && !strpbrk(item->valuestring, ".eE")) {
        errno = 0;
        *value = strtoll(item->valuestring, NULL, 10);
        return errno == 0;
    }
    const bool is_whole =
        fabs(item->valuedouble) <= most && item->valuedouble == floor(item->valuedouble);
    *value = is_whole ? (int64_t)item->valuedouble : 0;
    return is_whole;
}
