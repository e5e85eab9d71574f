#include "base/utf8.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_write.h"

#include <locale.h>
#include <string.h>
#include <time.h>

enum { AT_END = 1, KEYS = 1, NAMESPACE = 1 }; // options

static struct gi_jinja_value argument_at(const struct gi_jinja_call *call, size_t i)
{
    return gi_jinja_argument(call, i, "");
}

//-- methods of strings ----------------------------------------------------------------------------

static struct gi_jinja_value method_strip(const struct gi_jinja_call *call)
{
    return gi_jinja_value_of(gi_jinja_strip(call->value.string, gi_jinja_string_argument(call, 0),
                                            (enum gi_jinja_sides)call->option));
}

static void split_words(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                        struct gi_jinja_list *list, int64_t at_most)
{
    string = gi_jinja_strip(string, NULL, GI_JINJA_LEFT);
    for (; string.size && !pool->has_failed; at_most--) {
        size_t end = at_most == 0 ? string.size : 0;
        while (end < string.size && !gi_jinja_is_space(string.data[end])) {
            end++;
        }
        gi_jinja_push(pool, list, gi_jinja_value_of(gi_jinja_part(string, 0, end)));
        string = gi_jinja_strip(gi_jinja_part(string, end, string.size), NULL, GI_JINJA_LEFT);
    }
}

struct gi_jinja_value gi_jinja_split(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                     const struct gi_jinja_string *separator, int64_t at_most)
{
    struct gi_jinja_value value = gi_jinja_new_list(pool);
    size_t begin = 0, found;
    if (!separator) {
        split_words(pool, string, value.list, at_most);
        return value;
    }
    for (; separator->size && at_most != 0 && !pool->has_failed &&
           (found = gi_jinja_locate(string, *separator, begin)) != SIZE_MAX;
         at_most--) {
        gi_jinja_push(pool, value.list, gi_jinja_value_of(gi_jinja_part(string, begin, found)));
        begin = found + separator->size;
    }
    gi_jinja_push(pool, value.list, gi_jinja_value_of(gi_jinja_part(string, begin, string.size)));
    return value;
}

static struct gi_jinja_value method_split(const struct gi_jinja_call *call)
{
    return gi_jinja_split(call->pool, call->value.string, gi_jinja_string_argument(call, 0),
                          gi_jinja_int_argument(call, 1, "maxsplit", INT64_MIN, INT64_MAX, -1));
}

static struct gi_jinja_value method_splitlines(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string newline = gi_jinja_string_of("\n");
    struct gi_jinja_string string = call->value.string;
    if (!string.size) {
        return gi_jinja_new_list(call->pool);
    }
    string.size -= string.data[string.size - 1] == '\n';
    return gi_jinja_split(call->pool, string, &newline, -1);
}

static bool has_affix(struct gi_jinja_string string, struct gi_jinja_value affix, bool is_end)
{
    if (affix.kind != GI_JINJA_STRING || affix.string.size > string.size) {
        return false;
    }
    const size_t begin = is_end ? string.size - affix.string.size : 0;
    return gi_jinja_same(gi_jinja_part(string, begin, begin + affix.string.size), affix.string);
}

static struct gi_jinja_value method_affix(const struct gi_jinja_call *call)
{
    const struct gi_jinja_value affix = argument_at(call, 0);
    const bool is_end = call->option == AT_END;
    bool has_any = has_affix(call->value.string, affix, is_end);
    for (size_t i = 0; affix.kind == GI_JINJA_LIST && i < affix.list->count; i++) {
        has_any = has_any || has_affix(call->value.string, affix.list->items[i], is_end);
    }
    return gi_jinja_bool(has_any);
}

static struct gi_jinja_value method_remove(const struct gi_jinja_call *call)
{
    const bool is_end = call->option == AT_END;
    const struct gi_jinja_value affix = argument_at(call, 0);
    const struct gi_jinja_string string = call->value.string;
    if (!has_affix(string, affix, is_end)) {
        return call->value;
    }
    const size_t size = affix.string.size;
    return gi_jinja_value_of(is_end ? gi_jinja_part(string, 0, string.size - size)
                                    : gi_jinja_part(string, size, string.size));
}

static struct gi_jinja_value method_replace(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string *old = gi_jinja_string_argument(call, 0);
    const struct gi_jinja_string *with = gi_jinja_string_argument(call, 1);
    if (!old || !with) {
        return gi_jinja_refuse(call->pool, "'replace' takes two strings");
    }
    return gi_jinja_value_of(
        gi_jinja_replace(call->pool, call->value.string, *old, *with,
                         gi_jinja_int_argument(call, 2, "", INT64_MIN, INT64_MAX, -1)));
}

// Returns the place of a text, in characters; -1 if the string does not contain it.
static struct gi_jinja_value method_find(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string *what = gi_jinja_string_argument(call, 0);
    const size_t found = what ? gi_jinja_locate(call->value.string, *what, 0) : SIZE_MAX;
    const struct gi_jinja_string before = gi_jinja_part(call->value.string, 0, found);
    return gi_jinja_int(found == SIZE_MAX ? -1 : (int64_t)gi_utf8_count(before.data, before.size));
}

static struct gi_jinja_value method_count(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string *what = gi_jinja_string_argument(call, 0);
    int64_t n = 0;
    for (size_t at = 0;
         what && what->size && (at = gi_jinja_locate(call->value.string, *what, at)) != SIZE_MAX;
         at += what->size) {
        n++;
    }
    gi_jinja_spend(call->pool, (size_t)n);
    return gi_jinja_int(n);
}

static struct gi_jinja_value method_is_digit(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string string = call->value.string;
    bool is_digit = string.size > 0;
    for (size_t i = 0; i < string.size; i++) {
        is_digit = is_digit && string.data[i] >= '0' && string.data[i] <= '9';
    }
    return gi_jinja_bool(is_digit);
}

static struct gi_jinja_value method_join(const struct gi_jinja_call *call)
{
    return gi_jinja_join(call->pool, argument_at(call, 0), call->value.string, NULL);
}

// Splits from the end, at most maxsplit times.
static struct gi_jinja_value method_rsplit(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string *separator = gi_jinja_string_argument(call, 0);
    const int64_t at_most = gi_jinja_int_argument(call, 1, "maxsplit", 0, INT64_MAX, INT64_MAX);
    const struct gi_jinja_value all = gi_jinja_split(call->pool, call->value.string, separator, -1);
    const size_t n = all.list->count;
    if (n == 0 || at_most >= (int64_t)n - 1) {
        return all;
    }
    if (!separator) {
        return gi_jinja_refuse(call->pool, "'rsplit' at white space has no limit");
    }
    size_t size = call->value.string.size;
    struct gi_jinja_value cut = gi_jinja_new_list(call->pool);
    for (size_t i = n - (size_t)at_most; i < n; i++) {
        size -= all.list->items[i].string.size + separator->size;
    }
    gi_jinja_push(call->pool, cut.list,
                  gi_jinja_value_of(gi_jinja_part(call->value.string, 0, size)));
    for (size_t i = n - (size_t)at_most; i < n; i++) {
        gi_jinja_push(call->pool, cut.list, all.list->items[i]);
    }
    return cut;
}

// Returns the argument that a place of a format names: {}, {0} or {name}.
static struct gi_jinja_value format_argument(const struct gi_jinja_call *call,
                                             struct gi_jinja_string name, size_t *n_taken)
{
    size_t index = *n_taken;
    bool is_index = name.size < 9;
    for (size_t i = 0; i < name.size; i++) {
        is_index = is_index && name.data[i] >= '0' && name.data[i] <= '9';
        index = (i ? index * 10 : 0) + (size_t)(name.data[i] - '0') % 10;
    }
    *n_taken += name.size == 0;
    const struct gi_jinja_value *found =
        !is_index ? gi_jinja_find(call->pool, &call->named, gi_jinja_value_of(name))
        : index < call->arguments.count ? &call->arguments.items[index]
                                        : NULL;
    return found ? *found
                 : gi_jinja_refuse(call->pool, "missing argument {%.*s} of a format",
                                   name.size > 32 ? 32 : (int)name.size, name.data);
}

// Writes a string whose places in braces are arguments; doubled ones are braces.
static struct gi_jinja_value method_format(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string string = call->value.string;
    struct gi_jinja_text text = {0};
    size_t n_taken = 0;
    for (size_t i = 0, end; i < string.size && !call->pool->has_failed; i = end) {
        const char byte = string.data[i];
        const bool is_brace = byte == '{' || byte == '}';
        end = i + 1;
        if (is_brace && end < string.size && string.data[end] == byte) {
            end++;
        } else if (is_brace) {
            const size_t close = gi_jinja_locate(string, gi_jinja_string_of("}"), end);
            if (byte == '}' || close == SIZE_MAX) {
                return gi_jinja_refuse(call->pool, "single '{' or '}' in a format");
            }
            const struct gi_jinja_value value =
                format_argument(call, gi_jinja_part(string, end, close), &n_taken);
            gi_jinja_append(call->pool, &text, gi_jinja_to_string(call->pool, value));
            end = close + 1;
            continue;
        }
        gi_jinja_append(call->pool, &text, gi_jinja_part(string, i, i + 1));
    }
    return gi_jinja_written(&text);
}

//-- methods of lists ------------------------------------------------------------------------------

static struct gi_jinja_value method_append(const struct gi_jinja_call *call)
{
    gi_jinja_push(call->pool, call->value.list, argument_at(call, 0));
    return gi_jinja_none();
}

// Takes out an element, by default the last. Others may share the elements, so they are copied.
static struct gi_jinja_value method_pop(const struct gi_jinja_call *call)
{
    struct gi_jinja_list *list = call->value.list, rest = {0};
    const int64_t n = (int64_t)list->count;
    const int64_t at = gi_jinja_int_argument(call, 0, "", -n, n - 1, n - 1);
    const size_t taken = (size_t)(at < 0 ? at + n : at);
    if (n == 0) {
        return gi_jinja_refuse(call->pool, "cannot pop from an empty list");
    }
    const struct gi_jinja_value value = list->items[taken];
    for (size_t i = 0; i < list->count; i++) {
        if (i != taken) {
            gi_jinja_push(call->pool, &rest, list->items[i]);
        }
    }
    *list = rest;
    return value;
}

//-- methods of mappings ---------------------------------------------------------------------------

static struct gi_jinja_value method_get(const struct gi_jinja_call *call)
{
    const struct gi_jinja_value found =
        gi_jinja_get(call->pool, call->value.dict, argument_at(call, 0));
    const struct gi_jinja_value other = argument_at(call, 1);
    return found.kind != GI_JINJA_UNDEFINED   ? found
           : other.kind != GI_JINJA_UNDEFINED ? other
                                              : gi_jinja_none();
}

static struct gi_jinja_value method_keys(const struct gi_jinja_call *call)
{
    const struct gi_jinja_dict *dict = call->value.dict;
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    *list.list = call->option == KEYS ? dict->keys : dict->values;
    list.list->capacity = list.list->count; // so that growing it copies it
    return list;
}

//-- functions -------------------------------------------------------------------------------------

static struct gi_jinja_value call_raise(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string text = gi_jinja_to_string(call->pool, argument_at(call, 0));
    gi_jinja_fail(call->pool, GLINFER_STATUS_INVALID_ARGUMENT,
                  "the chat template refuses the conversation: %.*s",
                  text.size > 300 ? 300 : (int)text.size, text.data ? text.data : "");
    return gi_jinja_undefined();
}

static struct gi_jinja_value call_range(const struct gi_jinja_call *call)
{
    enum { MAX_RANGE = 1 << 16, BAD = MAX_RANGE + 1 };
    const int64_t first = gi_jinja_int_argument(call, 0, "", -MAX_RANGE, MAX_RANGE, BAD);
    const int64_t second = gi_jinja_int_argument(call, 1, "", -MAX_RANGE, MAX_RANGE, BAD);
    const bool has_both = call->arguments.count > 1;
    const int64_t begin = has_both ? first : 0, end = has_both ? second : first;
    const int64_t step = argument_at(call, 2).kind == GI_JINJA_INT
                             ? gi_jinja_int_argument(call, 2, "", -MAX_RANGE, MAX_RANGE, 0)
                             : 1;
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    if (begin == BAD || end == BAD || step == 0) {
        return gi_jinja_refuse(call->pool,
                               "invalid range: its bounds and step must be numbers, the "
                               "step not 0");
    }
    for (int64_t i = begin; !call->pool->has_failed && (step > 0 ? i < end : i > end); i += step) {
        gi_jinja_push(call->pool, list.list, gi_jinja_int(i));
    }
    return list;
}

// Creates a mapping, whose values may be set if it is a namespace.
static struct gi_jinja_value call_namespace(const struct gi_jinja_call *call)
{
    struct gi_jinja_value value = gi_jinja_new_dict(call->pool);
    value.dict->is_namespace = call->option == NAMESPACE;
    for (size_t i = 0; i < call->named.keys.count && !call->pool->has_failed; i++) {
        gi_jinja_set(call->pool, value.dict, call->named.keys.items[i],
                     call->named.values.items[i]);
    }
    return value;
}

struct gi_jinja_value gi_jinja_today(struct gi_jinja_pool *pool, const char *format)
{
    char today[256];
    const time_t now = time(NULL);
    struct tm local;
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const bool is_known = c_locale != (locale_t)0 && localtime_r(&now, &local);
    if (!is_known || !strftime_l(today, sizeof(today), format, &local, c_locale)) {
        today[0] = 0;
    }
    if (c_locale != (locale_t)0) {
        freelocale(c_locale);
    }
    return gi_jinja_value_of(gi_jinja_copy(pool, gi_jinja_string_of(today)));
}

static struct gi_jinja_value call_today(const struct gi_jinja_call *call)
{
    char format[128] = "";
    const struct gi_jinja_string *text = gi_jinja_string_argument(call, 0);
    if (!text || text->size >= sizeof(format)) {
        return gi_jinja_refuse(call->pool, "a date has no format");
    }
    if (text->size) {
        memcpy(format, text->data, text->size);
    }
    return gi_jinja_today(call->pool, format);
}

// clang-format off
const struct gi_jinja_builtin gi_jinja_methods[] = {
    {"strip", GI_JINJA_OF_STRING, method_strip, GI_JINJA_BOTH},
    {"lstrip", GI_JINJA_OF_STRING, method_strip, GI_JINJA_LEFT},
    {"rstrip", GI_JINJA_OF_STRING, method_strip, GI_JINJA_RIGHT},
    {"split", GI_JINJA_OF_STRING, method_split, 0},
    {"rsplit", GI_JINJA_OF_STRING, method_rsplit, 0},
    {"format", GI_JINJA_OF_STRING, method_format, 0},
    {"splitlines", GI_JINJA_OF_STRING, method_splitlines, 0},
    {"startswith", GI_JINJA_OF_STRING, method_affix, 0},
    {"endswith", GI_JINJA_OF_STRING, method_affix, AT_END},
    {"removeprefix", GI_JINJA_OF_STRING, method_remove, 0},
    {"removesuffix", GI_JINJA_OF_STRING, method_remove, AT_END},
    {"replace", GI_JINJA_OF_STRING, method_replace, 0},
    {"find", GI_JINJA_OF_STRING, method_find, 0},
    {"count", GI_JINJA_OF_STRING, method_count, 0},
    {"isdigit", GI_JINJA_OF_STRING, method_is_digit, 0},
    {"join", GI_JINJA_OF_STRING, method_join, 0},
    {"append", GI_JINJA_OF_LIST, method_append, 0},
    {"pop", GI_JINJA_OF_LIST, method_pop, 0},
    {"get", GI_JINJA_OF_DICT, method_get, 0},
    {"keys", GI_JINJA_OF_DICT, method_keys, KEYS},
    {"values", GI_JINJA_OF_DICT, method_keys, 0},
    {"raise_exception", GI_JINJA_FUNCTION, call_raise, 0},
    {"range", GI_JINJA_FUNCTION, call_range, 0},
    {"namespace", GI_JINJA_FUNCTION, call_namespace, NAMESPACE},
    {"dict", GI_JINJA_FUNCTION, call_namespace, 0},
    {"strftime_now", GI_JINJA_FUNCTION, call_today, 0},
    {NULL, 0, NULL, 0},
};
// clang-format on
