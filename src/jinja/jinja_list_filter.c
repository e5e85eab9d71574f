// Filters of lists and mappings.
#include "jinja/jinja_run.h"
#include "jinja/jinja_write.h"

enum { REVERSED = 1, REJECTS = 1, BY_ATTRIBUTE = 2 }; // options

// Returns an element's attribute of that path; without a path the element.
static struct gi_jinja_value pick(struct gi_jinja_pool *pool, struct gi_jinja_value item,
                                  const struct gi_jinja_value *path)
{
    return path ? gi_jinja_attribute(pool, item, *path) : item;
}

static struct gi_jinja_value filter_length(const struct gi_jinja_call *call)
{
    if (call->value.kind < GI_JINJA_STRING && call->value.kind != GI_JINJA_UNDEFINED) {
        return gi_jinja_refuse(call->pool, "%s has no length",
                               gi_jinja_kind_name(call->value.kind));
    }
    return gi_jinja_int((int64_t)gi_jinja_count(call->value));
}

struct gi_jinja_value gi_jinja_join(struct gi_jinja_pool *pool, struct gi_jinja_value list,
                                    struct gi_jinja_string separator,
                                    const struct gi_jinja_value *attribute)
{
    const struct gi_jinja_list elements = gi_jinja_elements(pool, list);
    struct gi_jinja_text text = {0};
    for (size_t i = 0; i < elements.count && !pool->has_failed; i++) {
        const struct gi_jinja_value item = pick(pool, elements.items[i], attribute);
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
    return gi_jinja_item(call->pool, call->value, gi_jinja_int(call->option));
}

// Returns the smallest or the largest element, by its attribute if one is named.
static struct gi_jinja_value filter_extreme(const struct gi_jinja_call *call)
{
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    const struct gi_jinja_value name = gi_jinja_argument(call, 1, "attribute");
    const struct gi_jinja_value *path = name.kind == GI_JINJA_UNDEFINED ? NULL : &name;
    const bool by_case = gi_jinja_is_true(gi_jinja_argument(call, 0, "case_sensitive"));
    struct gi_jinja_value best = {.kind = GI_JINJA_UNDEFINED};
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        const struct gi_jinja_value item = from.items[i];
        const bool is_better =
            i == 0 || call->option * gi_jinja_order(call->pool, pick(call->pool, item, path),
                                                    pick(call->pool, best, path), by_case) >
                          0;
        best = is_better ? item : best;
    }
    return best;
}

static struct gi_jinja_value filter_list(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        gi_jinja_push(call->pool, list.list,
                      from.items[call->option == REVERSED ? from.count - 1 - i : i]);
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

// Says what a list is sorted by.
struct sorting {
    const struct gi_jinja_value *path; // NULL: the elements themselves
    bool by_case, is_reversed;
};

// Sorts a list, equal elements in the order in which they were.
static void sort(struct gi_jinja_pool *pool, struct gi_jinja_list *list,
                 const struct sorting *sorting)
{
    const int sign = sorting->is_reversed ? -1 : 1;
    for (size_t i = 1; i < list->count && !pool->has_failed; i++) {
        const struct gi_jinja_value item = list->items[i];
        const struct gi_jinja_value key = pick(pool, item, sorting->path);
        size_t k = i;
        for (; k > 0 && sign * gi_jinja_order(pool, pick(pool, list->items[k - 1], sorting->path),
                                              key, sorting->by_case) >
                            0;
             k--) {
            list->items[k] = list->items[k - 1];
        }
        list->items[k] = item;
    }
}

static struct gi_jinja_value filter_sort(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = filter_list(call);
    const struct gi_jinja_value name = gi_jinja_argument(call, 2, "attribute");
    const struct sorting sorting = {
        .path = name.kind == GI_JINJA_UNDEFINED ? NULL : &name,
        .by_case = gi_jinja_is_true(gi_jinja_argument(call, 1, "case_sensitive")),
        .is_reversed = gi_jinja_is_true(gi_jinja_argument(call, 0, "reverse")),
    };
    sort(call->pool, list.list, &sorting);
    return list;
}

static struct gi_jinja_value filter_dictsort(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = filter_items(call);
    const struct gi_jinja_value by = gi_jinja_argument(call, 1, "by");
    const bool by_value = by.kind == GI_JINJA_STRING && gi_jinja_is(by.string, "value");
    const struct gi_jinja_value place = gi_jinja_int(by_value);
    const struct sorting sorting = {
        .path = &place,
        .by_case = gi_jinja_is_true(gi_jinja_argument(call, 0, "case_sensitive")),
        .is_reversed = gi_jinja_is_true(gi_jinja_argument(call, 2, "reverse")),
    };
    sort(call->pool, list.list, &sorting);
    return list;
}

// Returns the elements without those that are equal to an earlier one, letters being lower.
static struct gi_jinja_value filter_unique(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool),
                          seen = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    const struct gi_jinja_value name = gi_jinja_argument(call, 1, "attribute");
    const bool by_case = gi_jinja_is_true(gi_jinja_argument(call, 0, "case_sensitive"));
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        struct gi_jinja_value key = name.kind == GI_JINJA_UNDEFINED
                                        ? from.items[i]
                                        : gi_jinja_attribute(call->pool, from.items[i], name);
        if (key.kind == GI_JINJA_STRING && !by_case) {
            key.string = gi_jinja_change_case(call->pool, key.string, GI_JINJA_CASE_LOWER);
        }
        if (!gi_jinja_contains(call->pool, seen, key)) {
            gi_jinja_push(call->pool, seen.list, key);
            gi_jinja_push(call->pool, list.list, from.items[i]);
        }
    }
    return list;
}

static struct gi_jinja_value filter_sum(const struct gi_jinja_call *call)
{
    const struct gi_jinja_list from = gi_jinja_elements(call->pool, call->value);
    const struct gi_jinja_value name = gi_jinja_argument(call, 0, "attribute");
    int64_t sum = 0;
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        const struct gi_jinja_value item =
            pick(call->pool, from.items[i], name.kind == GI_JINJA_UNDEFINED ? NULL : &name);
        if (!gi_jinja_is_number(item) || __builtin_add_overflow(sum, item.number, &sum)) {
            return gi_jinja_refuse(call->pool, "cannot add %s to a sum",
                                   gi_jinja_kind_name(item.kind));
        }
    }
    return gi_jinja_int(sum);
}

// Returns a call of another filter or test, with the arguments after the first n.
static struct gi_jinja_call call_on(const struct gi_jinja_call *call, struct gi_jinja_string name,
                                    struct gi_jinja_value value, size_t n)
{
    struct gi_jinja_call each = *call;
    each.name = name;
    each.value = value;
    each.arguments =
        (struct gi_jinja_list){call->arguments.items + n, call->arguments.count - n, 0};
    return each;
}

// Returns the elements of a selection: none if the value is not true.
static struct gi_jinja_list elements_if_any(const struct gi_jinja_call *call)
{
    return gi_jinja_is_true(call->value) ? gi_jinja_elements(call->pool, call->value)
                                         : (struct gi_jinja_list){0};
}

// Returns the truth of an element or, if arguments name these, of its attribute and of a test.
static bool is_selected(const struct gi_jinja_call *call, struct gi_jinja_value item,
                        bool by_attribute)
{
    const size_t i = by_attribute ? 1 : 0;
    if (by_attribute) {
        item = gi_jinja_attribute(call->pool, item, gi_jinja_argument(call, 0, ""));
    }
    const struct gi_jinja_string *name = gi_jinja_string_argument(call, i);
    if (!name) {
        return gi_jinja_is_true(item);
    }
    const struct gi_jinja_call test = call_on(call, *name, item, i + 1);
    return gi_jinja_is_true(gi_jinja_apply(&test, GI_JINJA_TEST));
}

static struct gi_jinja_value filter_select(const struct gi_jinja_call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(call->pool);
    const struct gi_jinja_list from = elements_if_any(call);
    const bool is_reject = call->option & REJECTS, by_attribute = call->option & BY_ATTRIBUTE;
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
    const struct gi_jinja_value other =
        gi_jinja_get(call->pool, &call->named, gi_jinja_constant("default"));
    const bool by_attribute = attribute.kind != GI_JINJA_UNDEFINED;
    const struct gi_jinja_value filter = gi_jinja_argument(call, 0, "");
    if (!by_attribute && filter.kind != GI_JINJA_STRING) {
        return gi_jinja_refuse(call->pool, "'map' needs a filter or an attribute");
    }
    for (size_t i = 0; i < from.count && !call->pool->has_failed; i++) {
        struct gi_jinja_value item = from.items[i];
        if (by_attribute) {
            item = gi_jinja_attribute(call->pool, item, attribute);
            item = item.kind == GI_JINJA_UNDEFINED ? other : item;
        } else {
            const struct gi_jinja_call each = call_on(call, filter.string, item, 1);
            item = gi_jinja_apply(&each, GI_JINJA_FILTER);
        }
        gi_jinja_push(call->pool, list.list, item);
    }
    return list;
}

// clang-format off
const struct gi_jinja_builtin gi_jinja_list_filters[] = {
    {"length", GI_JINJA_FILTER, filter_length, 0},
    {"count", GI_JINJA_FILTER, filter_length, 0},
    {"join", GI_JINJA_FILTER, filter_join, 0},
    {"first", GI_JINJA_FILTER, filter_end, 0},
    {"last", GI_JINJA_FILTER, filter_end, -1},
    {"min", GI_JINJA_FILTER, filter_extreme, -1},
    {"max", GI_JINJA_FILTER, filter_extreme, 1},
    {"sum", GI_JINJA_FILTER, filter_sum, 0},
    {"list", GI_JINJA_FILTER, filter_list, 0},
    {"reverse", GI_JINJA_FILTER, filter_list, REVERSED},
    {"items", GI_JINJA_FILTER | GI_JINJA_OF_DICT, filter_items, 0},
    {"sort", GI_JINJA_FILTER, filter_sort, 0},
    {"dictsort", GI_JINJA_FILTER, filter_dictsort, 0},
    {"unique", GI_JINJA_FILTER, filter_unique, 0},
    {"select", GI_JINJA_FILTER, filter_select, 0},
    {"reject", GI_JINJA_FILTER, filter_select, REJECTS},
    {"selectattr", GI_JINJA_FILTER, filter_select, BY_ATTRIBUTE},
    {"rejectattr", GI_JINJA_FILTER, filter_select, REJECTS | BY_ATTRIBUTE},
    {"map", GI_JINJA_FILTER, filter_map, 0},
    {NULL, 0, NULL, 0},
};
// clang-format on
