#include "jinja/jinja_run.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

//-- tests -----------------------------------------------------------------------------------------

static bool is_kind(struct gi_jinja_value value, struct gi_jinja_string name, bool *is_known)
{
    static const struct {
        const char *name;
        unsigned kinds; // a bit each
    } kinds[] = {
        {"undefined", 1u << GI_JINJA_UNDEFINED                       },
        {"none",      1u << GI_JINJA_NONE                            },
        {"boolean",   1u << GI_JINJA_BOOL                            },
        {"integer",   1u << GI_JINJA_INT                             },
        {"number",    1u << GI_JINJA_INT | 1u << GI_JINJA_BOOL       },
        {"float",     0                                              },
        {"string",    1u << GI_JINJA_STRING                          },
        {"mapping",   1u << GI_JINJA_DICT                            },
        {"callable",  1u << GI_JINJA_MACRO                           },
        {"iterable",  1u << GI_JINJA_STRING | 1u << GI_JINJA_LIST | 1u << GI_JINJA_DICT |
                         1u << GI_JINJA_UNDEFINED},
        {"sequence",  1u << GI_JINJA_STRING | 1u << GI_JINJA_LIST | 1u << GI_JINJA_DICT |
                         1u << GI_JINJA_UNDEFINED},
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (gi_jinja_is(name, kinds[i].name)) {
            *is_known = true;
            return (kinds[i].kinds >> value.kind & 1) != 0;
        }
    }
    *is_known = false;
    return false;
}

static bool is_divisible(struct gi_jinja_value value, int64_t by)
{
    // What -1 divides is left out of %, which cannot have the least of numbers.
    return value.kind == GI_JINJA_INT && by != 0 && (by == -1 || value.number % by == 0);
}

bool gi_jinja_test(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                   struct gi_jinja_string name, struct gi_jinja_value value,
                   struct gi_jinja_value argument)
{
    bool is_known;
    const bool is_of_kind = is_kind(value, name, &is_known);
    if (is_known) {
        return is_of_kind;
    }
    if (gi_jinja_is(name, "defined")) {
        return value.kind != GI_JINJA_UNDEFINED;
    }
    if (gi_jinja_is(name, "true") || gi_jinja_is(name, "false")) {
        return value.kind == GI_JINJA_BOOL && value.number == gi_jinja_is(name, "true");
    }
    if (gi_jinja_is(name, "equalto") || gi_jinja_is(name, "eq") || gi_jinja_is(name, "sameas")) {
        return gi_jinja_is_equal(&run->pool, value, argument);
    }
    if (gi_jinja_is(name, "ne")) {
        return !gi_jinja_is_equal(&run->pool, value, argument);
    }
    if (gi_jinja_is(name, "in")) {
        const struct gi_jinja_list list = gi_jinja_elements(run, node, argument);
        bool is_in = argument.kind == GI_JINJA_STRING && value.kind == GI_JINJA_STRING &&
                     gi_jinja_locate(argument.string, value.string, 0) != SIZE_MAX;
        for (size_t i = 0; !is_in && i < list.count; i++) {
            is_in = gi_jinja_is_equal(&run->pool, list.items[i], value);
        }
        return is_in;
    }
    if (gi_jinja_is(name, "odd") || gi_jinja_is(name, "even")) {
        return is_divisible(value, 2) == gi_jinja_is(name, "even");
    }
    if (gi_jinja_is(name, "divisibleby")) {
        return is_divisible(value, argument.kind == GI_JINJA_INT ? argument.number : 0);
    }
    gi_jinja_run_fail(run, node, "the test '%.*s' is not known", (int)name.size, name.data);
    return false;
}

//-- filters ---------------------------------------------------------------------------------------

// What a filter is applied to, and in which run.
struct call {
    struct gi_jinja_run *run;
    const struct gi_jinja_node *node;
    struct gi_jinja_string name;
    struct gi_jinja_value value;
    const struct gi_jinja_arguments *arguments;
};

static struct gi_jinja_string text_of(const struct call *call)
{
    return gi_jinja_to_string(&call->run->pool, call->value);
}

static struct gi_jinja_value filter_same(const struct call *call)
{
    return call->value;
}

static struct gi_jinja_value filter_string(const struct call *call)
{
    return gi_jinja_text_value(text_of(call));
}

static struct gi_jinja_value filter_trim(const struct call *call)
{
    const struct gi_jinja_value what = gi_jinja_argument(call->arguments, 0, "chars");
    return gi_jinja_text_value(gi_jinja_strip(
        text_of(call), what.kind == GI_JINJA_STRING ? &what.string : NULL, GI_JINJA_BOTH));
}

static struct gi_jinja_value filter_case(const struct call *call)
{
    static const char *const names[] = {"upper", "lower", "title", "capitalize"};
    size_t to = 0;
    while (!gi_jinja_is(call->name, names[to])) {
        to++;
    }
    return gi_jinja_text_value(
        gi_jinja_change_case(&call->run->pool, text_of(call), (enum gi_jinja_case)to));
}

static struct gi_jinja_value filter_length(const struct call *call)
{
    if (call->value.kind < GI_JINJA_STRING && call->value.kind != GI_JINJA_UNDEFINED) {
        gi_jinja_run_fail(call->run, call->node, "%s has no length",
                          gi_jinja_kind_name(call->value.kind));
    }
    return gi_jinja_int((int64_t)gi_jinja_count(call->value));
}

static struct gi_jinja_value filter_default(const struct call *call)
{
    const bool by_truth = gi_jinja_is_true(gi_jinja_argument(call->arguments, 1, "boolean"));
    const bool is_missing =
        by_truth ? !gi_jinja_is_true(call->value) : call->value.kind == GI_JINJA_UNDEFINED;
    const struct gi_jinja_value other = gi_jinja_argument(call->arguments, 0, "default_value");
    return !is_missing                        ? call->value
           : other.kind == GI_JINJA_UNDEFINED ? gi_jinja_constant("")
                                              : other;
}

static struct gi_jinja_value filter_json(const struct call *call)
{
    const struct gi_jinja_value indent = gi_jinja_argument(call->arguments, 0, "indent");
    const bool has_indent =
        indent.kind == GI_JINJA_INT && indent.number >= 0 && indent.number <= 16;
    return gi_jinja_text_value(
        gi_jinja_to_json(&call->run->pool, call->value, has_indent ? (int)indent.number : -1));
}

static struct gi_jinja_value filter_replace(const struct call *call)
{
    struct gi_jinja_pool *pool = &call->run->pool;
    const struct gi_jinja_value old = gi_jinja_argument(call->arguments, 0, "old");
    const struct gi_jinja_value with = gi_jinja_argument(call->arguments, 1, "new");
    return gi_jinja_text_value(gi_jinja_replace(pool, text_of(call), gi_jinja_to_string(pool, old),
                                                gi_jinja_to_string(pool, with), -1));
}

static struct gi_jinja_value filter_join(const struct call *call)
{
    struct gi_jinja_pool *pool = &call->run->pool;
    const struct gi_jinja_list list = gi_jinja_elements(call->run, call->node, call->value);
    const struct gi_jinja_value between = gi_jinja_argument(call->arguments, 0, "d");
    const struct gi_jinja_value name = gi_jinja_argument(call->arguments, 1, "attribute");
    struct gi_jinja_text text = {0};
    for (size_t i = 0; i < list.count && !pool->has_failed; i++) {
        const struct gi_jinja_value item = name.kind == GI_JINJA_STRING
                                               ? gi_jinja_item(call->run, list.items[i], name)
                                               : list.items[i];
        gi_jinja_append(pool, &text,
                        i ? gi_jinja_to_string(pool, between) : gi_jinja_string_of(""));
        gi_jinja_append(pool, &text, gi_jinja_to_string(pool, item));
    }
    return gi_jinja_text_value(gi_jinja_text_string(&text));
}

static struct gi_jinja_value filter_end(const struct call *call)
{
    const bool is_first = gi_jinja_is(call->name, "first");
    return gi_jinja_item(call->run, call->value, gi_jinja_int(is_first ? 0 : -1));
}

static struct gi_jinja_value filter_list(const struct call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(&call->run->pool);
    const struct gi_jinja_list from = gi_jinja_elements(call->run, call->node, call->value);
    const bool is_reversed = gi_jinja_is(call->name, "reverse");
    for (size_t i = 0; i < from.count && !call->run->pool.has_failed; i++) {
        gi_jinja_push(&call->run->pool, list.list,
                      from.items[is_reversed ? from.count - 1 - i : i]);
    }
    return list;
}

static struct gi_jinja_value filter_items(const struct call *call)
{
    struct gi_jinja_pool *pool = &call->run->pool;
    struct gi_jinja_value list = gi_jinja_new_list(pool);
    const bool is_dict = call->value.kind == GI_JINJA_DICT;
    for (size_t i = 0; is_dict && i < call->value.dict->keys.count && !pool->has_failed; i++) {
        struct gi_jinja_value pair = gi_jinja_new_list(pool);
        if (!pool->has_failed) {
            gi_jinja_push(pool, pair.list, call->value.dict->keys.items[i]);
            gi_jinja_push(pool, pair.list, call->value.dict->values.items[i]);
            gi_jinja_push(pool, list.list, pair);
        }
    }
    return list;
}

// Whether the key of pair a comes after that of b.
static bool is_after(struct gi_jinja_value a, struct gi_jinja_value b)
{
    const struct gi_jinja_value left = a.list->items[0], right = b.list->items[0];
    if (left.kind != GI_JINJA_STRING || right.kind != GI_JINJA_STRING) {
        return left.kind == GI_JINJA_INT && right.kind == GI_JINJA_INT &&
               left.number > right.number;
    }
    const size_t size = left.string.size < right.string.size ? left.string.size : right.string.size;
    const int order = size ? memcmp(left.string.data, right.string.data, size) : 0;
    return order > 0 || (order == 0 && left.string.size > right.string.size);
}

static struct gi_jinja_value filter_dictsort(const struct call *call)
{
    struct gi_jinja_value list = filter_items(call);
    for (size_t i = 1; !call->run->pool.has_failed && i < list.list->count; i++) {
        const struct gi_jinja_value pair = list.list->items[i];
        size_t k = i;
        for (; k > 0 && is_after(list.list->items[k - 1], pair); k--) {
            list.list->items[k] = list.list->items[k - 1];
        }
        list.list->items[k] = pair;
        gi_jinja_spend(&call->run->pool, i - k);
    }
    return list;
}

// What a selection walks over: nothing of what is not true.
static struct gi_jinja_list elements_if_any(const struct call *call)
{
    return gi_jinja_is_true(call->value) ? gi_jinja_elements(call->run, call->node, call->value)
                                         : (struct gi_jinja_list){0};
}

// An element's truth, or that of a test of it, or of an attribute of its.
static bool is_selected(const struct call *call, struct gi_jinja_value item, bool by_attribute)
{
    const struct gi_jinja_list *values = &call->arguments->values;
    const size_t n_skipped = by_attribute ? 1 : 0;
    if (by_attribute) {
        item =
            gi_jinja_item(call->run, item, values->count ? values->items[0] : gi_jinja_undefined());
    }
    if (values->count <= n_skipped || values->items[n_skipped].kind != GI_JINJA_STRING) {
        return gi_jinja_is_true(item);
    }
    return gi_jinja_test(call->run, call->node, values->items[n_skipped].string, item,
                         gi_jinja_argument(call->arguments, n_skipped + 1, ""));
}

static struct gi_jinja_value filter_select(const struct call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(&call->run->pool);
    const struct gi_jinja_list from = elements_if_any(call);
    const bool is_reject = call->name.data[0] == 'r';
    const bool by_attribute = call->name.size > strlen("select");
    for (size_t i = 0; i < from.count && !call->run->pool.has_failed; i++) {
        if (is_selected(call, from.items[i], by_attribute) != is_reject) {
            gi_jinja_push(&call->run->pool, list.list, from.items[i]);
        }
    }
    return list;
}

static struct gi_jinja_value filter_map(const struct call *call)
{
    static const struct gi_jinja_arguments none;
    struct gi_jinja_value list = gi_jinja_new_list(&call->run->pool);
    const struct gi_jinja_list from = elements_if_any(call);
    const struct gi_jinja_value attribute =
        gi_jinja_get(&call->run->pool, &call->arguments->named, gi_jinja_constant("attribute"));
    const struct gi_jinja_value filter = gi_jinja_argument(call->arguments, 0, "");
    if (attribute.kind != GI_JINJA_STRING && filter.kind != GI_JINJA_STRING) {
        gi_jinja_run_fail(call->run, call->node, "'map' has nothing to apply");
    }
    for (size_t i = 0; i < from.count && !call->run->pool.has_failed; i++) {
        gi_jinja_push(
            &call->run->pool, list.list,
            attribute.kind == GI_JINJA_STRING
                ? gi_jinja_item(call->run, from.items[i], attribute)
                : gi_jinja_filter(call->run, call->node, filter.string, from.items[i], &none));
    }
    return list;
}

static struct gi_jinja_value filter_int(const struct call *call)
{
    char digits[32] = "";
    if (call->value.kind != GI_JINJA_STRING) {
        return gi_jinja_int(call->value.kind == GI_JINJA_INT || call->value.kind == GI_JINJA_BOOL
                                ? call->value.number
                                : 0);
    }
    if (call->value.string.size && call->value.string.size < sizeof(digits)) {
        memcpy(digits, call->value.string.data, call->value.string.size);
    }
    return gi_jinja_int(strtoll(digits, NULL, 10));
}

static struct gi_jinja_value filter_indent(const struct call *call)
{
    struct gi_jinja_pool *pool = &call->run->pool;
    const struct gi_jinja_value width = gi_jinja_argument(call->arguments, 0, "width");
    const bool is_first = gi_jinja_is_true(gi_jinja_argument(call->arguments, 1, "first"));
    const int64_t n =
        width.kind == GI_JINJA_INT && width.number >= 0 && width.number <= 64 ? width.number : 4;
    const struct gi_jinja_string newline = gi_jinja_string_of("\n"), string = text_of(call);
    const struct gi_jinja_value lines = gi_jinja_split(pool, string, &newline, -1);
    struct gi_jinja_text text = {0};
    for (size_t i = 0; !pool->has_failed && i < lines.list->count; i++) {
        const struct gi_jinja_string line = lines.list->items[i].string;
        gi_jinja_append_text(pool, &text, i ? "\n" : "");
        for (int64_t k = 0; k < n && (i ? line.size > 0 : is_first); k++) {
            gi_jinja_append_text(pool, &text, " ");
        }
        gi_jinja_append(pool, &text, line);
    }
    return gi_jinja_text_value(gi_jinja_text_string(&text));
}

struct gi_jinja_value gi_jinja_filter(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                      struct gi_jinja_string name, struct gi_jinja_value value,
                                      const struct gi_jinja_arguments *arguments)
{
    static const struct {
        const char *name;
        struct gi_jinja_value (*apply)(const struct call *call);
    } filters[] = {
        {"trim",       filter_trim    },
        {"length",     filter_length  },
        {"count",      filter_length  },
        {"upper",      filter_case    },
        {"lower",      filter_case    },
        {"title",      filter_case    },
        {"capitalize", filter_case    },
        {"string",     filter_string  },
        {"safe",       filter_same    },
        {"default",    filter_default },
        {"d",          filter_default },
        {"tojson",     filter_json    },
        {"replace",    filter_replace },
        {"join",       filter_join    },
        {"first",      filter_end     },
        {"last",       filter_end     },
        {"list",       filter_list    },
        {"reverse",    filter_list    },
        {"items",      filter_items   },
        {"dictsort",   filter_dictsort},
        {"select",     filter_select  },
        {"reject",     filter_select  },
        {"selectattr", filter_select  },
        {"rejectattr", filter_select  },
        {"map",        filter_map     },
        {"int",        filter_int     },
        {"indent",     filter_indent  },
    };
    const struct call call = {run, node, name, value, arguments};
    gi_jinja_charge(run, value);
    for (size_t i = 0; i < COUNT(filters); i++) {
        if (gi_jinja_is(name, filters[i].name)) {
            return filters[i].apply(&call);
        }
    }
    gi_jinja_run_fail(run, node, "the filter '%.*s' is not known", (int)name.size, name.data);
    return gi_jinja_undefined();
}
