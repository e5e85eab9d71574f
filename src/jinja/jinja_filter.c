#include "jinja/jinja_run.h"

#include <stdlib.h>
#include <string.h>

//-- tests -----------------------------------------------------------------------------------------

static bool is_divisible(struct gi_jinja_value value, int64_t by)
{
    // Everything is a multiple of -1; % cannot divide INT64_MIN by it.
    return value.kind == GI_JINJA_INT && by != 0 && (by == -1 || value.number % by == 0);
}

// Tests of what a value is, a bit for each kind that passes.
static const struct {
    const char *name;
    unsigned kinds;
} kind_tests[] = {
    {"undefined", 1u << GI_JINJA_UNDEFINED                                                       },
    {"defined",   ~(1u << GI_JINJA_UNDEFINED)                                                    },
    {"none",      1u << GI_JINJA_NONE                                                            },
    {"boolean",   1u << GI_JINJA_BOOL                                                            },
    {"integer",   1u << GI_JINJA_INT                                                             },
    {"number",    1u << GI_JINJA_INT | 1u << GI_JINJA_FLOAT | 1u << GI_JINJA_BOOL                },
    {"float",     1u << GI_JINJA_FLOAT                                                           },
    {"string",    1u << GI_JINJA_STRING                                                          },
    {"mapping",   1u << GI_JINJA_DICT                                                            },
    {"callable",  1u << GI_JINJA_MACRO                                                           },
    {"iterable",
     1u << GI_JINJA_STRING | 1u << GI_JINJA_LIST | 1u << GI_JINJA_DICT | 1u << GI_JINJA_UNDEFINED},
    {"sequence",
     1u << GI_JINJA_STRING | 1u << GI_JINJA_LIST | 1u << GI_JINJA_DICT | 1u << GI_JINJA_UNDEFINED},
};

static struct gi_jinja_value test_truth(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(call->value.kind == GI_JINJA_BOOL &&
                         call->value.number == gi_jinja_is(call->name, "true"));
}

static struct gi_jinja_value test_equal(const struct gi_jinja_call *call)
{
    const bool is_equal =
        gi_jinja_is_equal(call->pool, call->value, gi_jinja_argument(call, 0, ""));
    return gi_jinja_bool(is_equal != gi_jinja_is(call->name, "ne"));
}

static struct gi_jinja_value test_in(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(
        gi_jinja_contains(call->pool, gi_jinja_argument(call, 0, ""), call->value));
}

static struct gi_jinja_value test_parity(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(is_divisible(call->value, 2) == gi_jinja_is(call->name, "even"));
}

static struct gi_jinja_value test_divisible(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(
        is_divisible(call->value, gi_jinja_int_argument(call, 0, "num", INT64_MIN, INT64_MAX, 0)));
}

bool gi_jinja_test(const struct gi_jinja_call *call)
{
    static const struct gi_jinja_builtin tests[] = {
        {"true",        test_truth    },
        {"false",       test_truth    },
        {"equalto",     test_equal    },
        {"eq",          test_equal    },
        {"sameas",      test_equal    },
        {"ne",          test_equal    },
        {"in",          test_in       },
        {"odd",         test_parity   },
        {"even",        test_parity   },
        {"divisibleby", test_divisible},
        {NULL,          NULL          }
    };
    for (size_t i = 0; i < sizeof(kind_tests) / sizeof(kind_tests[0]); i++) {
        if (gi_jinja_is(call->name, kind_tests[i].name)) {
            return kind_tests[i].kinds >> call->value.kind & 1;
        }
    }
    const struct gi_jinja_builtin *test = gi_jinja_find_builtin(tests, call->name);
    if (!test) {
        gi_jinja_refuse(call->pool, "the test '%.*s' is not known", (int)call->name.size,
                        call->name.data);
        return false;
    }
    return gi_jinja_is_true(test->apply(call));
}

//-- filters of strings ----------------------------------------------------------------------------

static struct gi_jinja_string text_of(const struct gi_jinja_call *call)
{
    return gi_jinja_to_string(call->pool, call->value);
}

static struct gi_jinja_value filter_same(const struct gi_jinja_call *call)
{
    return call->value;
}

static struct gi_jinja_value filter_string(const struct gi_jinja_call *call)
{
    return gi_jinja_value_of(text_of(call));
}

static struct gi_jinja_value filter_trim(const struct gi_jinja_call *call)
{
    const struct gi_jinja_value what = gi_jinja_argument(call, 0, "chars");
    return gi_jinja_value_of(gi_jinja_strip(
        text_of(call), what.kind == GI_JINJA_STRING ? &what.string : NULL, GI_JINJA_BOTH));
}

static struct gi_jinja_value filter_case(const struct gi_jinja_call *call)
{
    static const char *const names[] = {"upper", "lower", "title", "capitalize"};
    size_t to = 0;
    while (!gi_jinja_is(call->name, names[to])) {
        to++;
    }
    return gi_jinja_value_of(
        gi_jinja_change_case(call->pool, text_of(call), (enum gi_jinja_case)to));
}

static struct gi_jinja_value filter_json(const struct gi_jinja_call *call)
{
    return gi_jinja_to_json(call->pool, call->value,
                            (int)gi_jinja_int_argument(call, 0, "indent", 0, 16, -1));
}

static struct gi_jinja_value filter_replace(const struct gi_jinja_call *call)
{
    return gi_jinja_value_of(
        gi_jinja_replace(call->pool, text_of(call),
                         gi_jinja_to_string(call->pool, gi_jinja_argument(call, 0, "old")),
                         gi_jinja_to_string(call->pool, gi_jinja_argument(call, 1, "new")), -1));
}

static struct gi_jinja_value filter_int(const struct gi_jinja_call *call)
{
    const struct gi_jinja_string string = call->value.string;
    char digits[32] = "";
    if (call->value.kind != GI_JINJA_STRING) {
        return gi_jinja_int(gi_jinja_is_number(call->value) ? call->value.number : 0);
    }
    if (string.size && string.size < sizeof(digits)) {
        memcpy(digits, string.data, string.size);
    }
    return gi_jinja_int(strtoll(digits, NULL, 10));
}

static struct gi_jinja_value filter_indent(const struct gi_jinja_call *call)
{
    struct gi_jinja_pool *pool = call->pool;
    const bool is_first = gi_jinja_is_true(gi_jinja_argument(call, 1, "first"));
    const int64_t width = gi_jinja_int_argument(call, 0, "width", 0, 64, 4);
    const struct gi_jinja_string newline = gi_jinja_string_of("\n");
    const struct gi_jinja_value lines = gi_jinja_split(pool, text_of(call), &newline, -1);
    struct gi_jinja_text text = {0};
    for (size_t i = 0; i < lines.list->count; i++) {
        const struct gi_jinja_string line = lines.list->items[i].string;
        gi_jinja_append_text(pool, &text, i ? "\n" : "");
        for (int64_t k = 0; k < width && (i ? line.size > 0 : is_first); k++) {
            gi_jinja_append_text(pool, &text, " ");
        }
        gi_jinja_append(pool, &text, line);
    }
    return gi_jinja_written(&text);
}

//-- filters of containers -------------------------------------------------------------------------

static struct gi_jinja_value filter_length(const struct gi_jinja_call *call)
{
    if (call->value.kind < GI_JINJA_STRING && call->value.kind != GI_JINJA_UNDEFINED) {
        return gi_jinja_refuse(call->pool, "%s has no length",
                               gi_jinja_kind_name(call->value.kind));
    }
    return gi_jinja_int((int64_t)gi_jinja_count(call->value));
}

static struct gi_jinja_value filter_default(const struct gi_jinja_call *call)
{
    const bool by_truth = gi_jinja_is_true(gi_jinja_argument(call, 1, "boolean"));
    const bool is_missing =
        by_truth ? !gi_jinja_is_true(call->value) : call->value.kind == GI_JINJA_UNDEFINED;
    const struct gi_jinja_value other = gi_jinja_argument(call, 0, "default_value");
    return !is_missing                        ? call->value
           : other.kind == GI_JINJA_UNDEFINED ? gi_jinja_constant("")
                                              : other;
}

struct gi_jinja_value gi_jinja_join(struct gi_jinja_pool *pool, struct gi_jinja_value list,
                                    struct gi_jinja_string separator,
                                    const struct gi_jinja_value *attribute)
{
    const struct gi_jinja_list elements = gi_jinja_elements(pool, list);
    struct gi_jinja_text text = {0};
    for (size_t i = 0; i < elements.count && !pool->has_failed; i++) {
        const struct gi_jinja_value item =
            attribute ? gi_jinja_item(pool, elements.items[i], *attribute) : elements.items[i];
        gi_jinja_append(pool, &text, i ? separator : gi_jinja_string_of(""));
        gi_jinja_append(pool, &text, gi_jinja_to_string(pool, item));
    }
    return gi_jinja_written(&text);
}

static struct gi_jinja_value filter_join(const struct gi_jinja_call *call)
{
    const struct gi_jinja_value name = gi_jinja_argument(call, 1, "attribute");
    const struct gi_jinja_value separator = gi_jinja_argument(call, 0, "d");
    return gi_jinja_join(call->pool, call->value, gi_jinja_to_string(call->pool, separator),
                         name.kind == GI_JINJA_STRING ? &name : NULL);
}

static struct gi_jinja_value filter_end(const struct gi_jinja_call *call)
{
    return gi_jinja_item(call->pool, call->value,
                         gi_jinja_int(gi_jinja_is(call->name, "first") ? 0 : -1));
}

// The smallest or the largest of a list of numbers or of strings.
static struct gi_jinja_value filter_extreme(const struct gi_jinja_call *call)
{
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    const int sign = gi_jinja_is(call->name, "min") ? -1 : 1;
    struct gi_jinja_value best = {.kind = GI_JINJA_UNDEFINED};
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        const struct gi_jinja_value item = from.items[i];
        int order = 0;
        if (item.kind == GI_JINJA_STRING && (i == 0 || best.kind == GI_JINJA_STRING)) {
            order = i == 0 ? 0 : gi_jinja_compare(item.string, best.string);
        } else if (gi_jinja_is_number(item) && (i == 0 || gi_jinja_is_number(best))) {
            order = (item.number > best.number) - (item.number < best.number);
        } else {
            return gi_jinja_refuse(call->pool, "%s has no order", gi_jinja_kind_name(item.kind));
        }
        best = i == 0 || order * sign > 0 ? item : best;
    }
    return best;
}

static struct gi_jinja_value filter_list(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    const bool is_reversed = gi_jinja_is(call->name, "reverse");
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        gi_jinja_push(call->pool, list.list, from.items[is_reversed ? from.count - 1 - i : i]);
    }
    return list;
}

static struct gi_jinja_value filter_items(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_dict none = {.is_namespace = false};
    const struct gi_jinja_dict *dict = call->value.kind == GI_JINJA_DICT ? call->value.dict : &none;
    for (size_t i = 0; i < dict->keys.count && !call->pool->has_failed; i++) {
        struct gi_jinja_value pair = gi_jinja_new_list(call->pool);
        gi_jinja_push(call->pool, pair.list, dict->keys.items[i]);
        gi_jinja_push(call->pool, pair.list, dict->values.items[i]);
        gi_jinja_push(call->pool, list.list, pair);
    }
    return list;
}

// True if the key of pair a comes after that of b.
static bool is_after(struct gi_jinja_value a, struct gi_jinja_value b)
{
    const struct gi_jinja_value left = a.list->items[0], right = b.list->items[0];
    if (left.kind == GI_JINJA_STRING && right.kind == GI_JINJA_STRING) {
        return gi_jinja_compare(left.string, right.string) > 0;
    }
    return left.kind == GI_JINJA_INT && right.kind == GI_JINJA_INT && left.number > right.number;
}

static struct gi_jinja_value filter_dictsort(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = filter_items(call);
    for (size_t i = 1; !call->pool->has_failed && i < list.list->count; i++) {
        const struct gi_jinja_value pair = list.list->items[i];
        size_t k = i;
        for (; k > 0 && is_after(list.list->items[k - 1], pair); k--) {
            list.list->items[k] = list.list->items[k - 1];
        }
        list.list->items[k] = pair;
        gi_jinja_spend(call->pool, i - k);
    }
    return list;
}

// Returns a call of another filter or test, without arguments.
static struct gi_jinja_call call_on(const struct gi_jinja_call *call, struct gi_jinja_string name,
                                    struct gi_jinja_value value)
{
    return (struct gi_jinja_call){
        .run = call->run, .pool = call->pool, .name = name, .value = value};
}

// Returns the elements that a selection walks over: none of what is not true.
static struct gi_jinja_list elements_if_any(const struct gi_jinja_call *call)
{
    return gi_jinja_is_true(call->value) ? gi_jinja_elements(call->pool, call->value)
                                         : (struct gi_jinja_list){0};
}

// Returns the truth of an element or, if arguments name these, of its attribute and of a test.
static bool is_selected(const struct gi_jinja_call *call, struct gi_jinja_value item,
                        bool by_attribute)
{
    const struct gi_jinja_list *arguments = &call->arguments;
    const size_t i = by_attribute ? 1 : 0;
    if (by_attribute) {
        item = gi_jinja_item(call->pool, item, gi_jinja_argument(call, 0, ""));
    }
    const struct gi_jinja_string *name = gi_jinja_string_argument(call, i);
    if (!name) {
        return gi_jinja_is_true(item);
    }
    struct gi_jinja_call test = call_on(call, *name, item);
    test.arguments = (struct gi_jinja_list){arguments->items + i + 1, arguments->count - i - 1, 0};
    return gi_jinja_test(&test);
}

static struct gi_jinja_value filter_select(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = elements_if_any(call);
    const bool is_reject = call->name.data[0] == 'r';
    const bool by_attribute = call->name.size > strlen("select");
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        if (is_selected(call, from.items[i], by_attribute) != is_reject) {
            gi_jinja_push(call->pool, list.list, from.items[i]);
        }
    }
    return list;
}

static struct gi_jinja_value filter_map(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = elements_if_any(call);
    const struct gi_jinja_value attribute =
        gi_jinja_get(call->pool, &call->named, gi_jinja_constant("attribute"));
    const bool by_attribute = attribute.kind == GI_JINJA_STRING;
    const struct gi_jinja_value filter = gi_jinja_argument(call, 0, "");
    if (!by_attribute && filter.kind != GI_JINJA_STRING) {
        return gi_jinja_refuse(call->pool, "'map' has nothing to apply");
    }
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        const struct gi_jinja_value item = from.items[i];
        const struct gi_jinja_call each = call_on(call, filter.string, item);
        gi_jinja_push(call->pool, list.list,
                      by_attribute ? gi_jinja_item(call->pool, item, attribute)
                                   : gi_jinja_filter(&each));
    }
    return list;
}

struct gi_jinja_value gi_jinja_filter(const struct gi_jinja_call *call)
{
    static const struct gi_jinja_builtin filters[] = {
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
        {"min",        filter_extreme },
        {"max",        filter_extreme },
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
        {NULL,         NULL           }
    };
    const struct gi_jinja_builtin *filter = gi_jinja_find_builtin(filters, call->name);
    gi_jinja_charge(call->pool, call->value);
    return filter ? filter->apply(call)
                  : gi_jinja_refuse(call->pool, "the filter '%.*s' is not known",
                                    (int)call->name.size, call->name.data);
}
