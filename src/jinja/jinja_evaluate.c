#include "jinja/jinja_run.h"

#include <string.h>

enum { MAX_STEPS = 1000000, MAX_DEPTH = 200 };

void gi_jinja_charge(struct gi_jinja_run *run, struct gi_jinja_value value)
{
    gi_jinja_spend(&run->pool, value.kind == GI_JINJA_STRING ? value.string.size / 16
                               : value.kind == GI_JINJA_LIST ? value.list->count
                               : value.kind == GI_JINJA_DICT ? value.dict->keys.count
                                                             : 0);
}

//-- elements --------------------------------------------------------------------------------------

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t gi_jinja_character(struct gi_jinja_string string, size_t i)
{
    size_t at = 0;
    for (; i > 0 && at < string.size; i--) {
        at++;
        while (at < string.size && is_continuation(string.data[at])) {
            at++;
        }
    }
    return at;
}

size_t gi_jinja_count(struct gi_jinja_value value)
{
    size_t n = 0;
    switch (value.kind) {
    case GI_JINJA_STRING:
        for (size_t i = 0; i < value.string.size; i++) {
            n += !is_continuation(value.string.data[i]);
        }
        return n;
    case GI_JINJA_LIST:
        return value.list->count;
    case GI_JINJA_DICT:
        return value.dict->keys.count;
    default:
        return 0;
    }
}

static struct gi_jinja_value character_at(struct gi_jinja_string string, size_t i)
{
    const size_t begin = gi_jinja_character(string, i);
    const size_t size = gi_jinja_character(gi_jinja_part(string, begin, string.size), 1);
    return gi_jinja_text_value(gi_jinja_part(string, begin, begin + size));
}

struct gi_jinja_list gi_jinja_elements(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                       struct gi_jinja_value value)
{
    struct gi_jinja_list list = {0};
    gi_jinja_charge(run, value);
    switch (value.kind) {
    case GI_JINJA_LIST:
        return *value.list;
    case GI_JINJA_DICT:
        return value.dict->keys;
    case GI_JINJA_STRING:
        for (size_t at = 0; at < value.string.size && !run->pool.has_failed;) {
            const struct gi_jinja_string rest = gi_jinja_part(value.string, at, value.string.size);
            const size_t size = gi_jinja_character(rest, 1);
            gi_jinja_push(&run->pool, &list, gi_jinja_text_value(gi_jinja_part(rest, 0, size)));
            at += size;
        }
        return list;
    case GI_JINJA_UNDEFINED:
        return list;
    default:
        gi_jinja_run_fail(run, node, "%s has no elements", gi_jinja_kind_name(value.kind));
        return list;
    }
}

struct gi_jinja_value gi_jinja_item(struct gi_jinja_run *run, struct gi_jinja_value object,
                                    struct gi_jinja_value key)
{
    if (object.kind == GI_JINJA_DICT) {
        return gi_jinja_get(&run->pool, object.dict, key);
    }
    if (object.kind == GI_JINJA_STRING) {
        gi_jinja_charge(run, object);
    }
    if (key.kind != GI_JINJA_INT && key.kind != GI_JINJA_BOOL) {
        return gi_jinja_undefined();
    }
    const int64_t n = (int64_t)gi_jinja_count(object);
    const int64_t i = key.number < 0 ? key.number + n : key.number;
    if (i < 0 || i >= n || object.kind == GI_JINJA_UNDEFINED) {
        return gi_jinja_undefined();
    }
    return object.kind == GI_JINJA_LIST ? object.list->items[i]
                                        : character_at(object.string, (size_t)i);
}

static struct gi_jinja_value take_item(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                       struct gi_jinja_value object, struct gi_jinja_value key)
{
    if (object.kind == GI_JINJA_UNDEFINED) {
        gi_jinja_run_fail(run, node, "an undefined value has no elements");
    }
    return gi_jinja_item(run, object, key);
}

// A bound of a slice as Python has it; `missing` where it is left out.
static int64_t read_bound(struct gi_jinja_run *run, const struct gi_jinja_node *node, int64_t n,
                          int64_t missing, int64_t least, int64_t most)
{
    const struct gi_jinja_value value = gi_jinja_evaluate_node(run, node);
    if (value.kind != GI_JINJA_INT) {
        return missing;
    }
    const int64_t bound = value.number < 0 ? value.number + n : value.number;
    return bound < least ? least : bound > most ? most : bound;
}

static struct gi_jinja_value evaluate_slice(struct gi_jinja_run *run,
                                            const struct gi_jinja_node *node)
{
    const struct gi_jinja_value object = gi_jinja_evaluate_node(run, node->a);
    const struct gi_jinja_node *bounds = node->list;
    const struct gi_jinja_value by = gi_jinja_evaluate_node(run, bounds->next->next);
    const int64_t step = by.kind == GI_JINJA_INT ? by.number : 1;
    const int64_t n = (int64_t)gi_jinja_count(object);
    gi_jinja_charge(run, object);
    if (step == 0 || step < -n - 1) {
        gi_jinja_run_fail(run, node, "a slice has no such step");
        return gi_jinja_undefined();
    }
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? n : n - 1;
    const int64_t begin = read_bound(run, bounds, n, step > 0 ? 0 : n - 1, least, most);
    const int64_t end = read_bound(run, bounds->next, n, step > 0 ? n : -1, least, most);
    if (object.kind == GI_JINJA_STRING && step == 1) {
        const size_t first = gi_jinja_character(object.string, (size_t)begin);
        const size_t last = end > begin ? gi_jinja_character(object.string, (size_t)end) : first;
        return gi_jinja_text_value(gi_jinja_part(object.string, first, last));
    }
    struct gi_jinja_value slice = gi_jinja_new_list(&run->pool);
    const struct gi_jinja_list list = gi_jinja_elements(run, node, object);
    for (int64_t i = begin; list.items && (step > 0 ? i < end : i > end) && !run->pool.has_failed;
         i += step) {
        gi_jinja_push(&run->pool, slice.list, list.items[i]);
        if (step > 0 && i > INT64_MAX - step) {
            break;
        }
    }
    if (object.kind == GI_JINJA_STRING && !run->pool.has_failed) {
        struct gi_jinja_text text = {0};
        for (size_t i = 0; i < slice.list->count; i++) {
            gi_jinja_append(&run->pool, &text, slice.list->items[i].string);
        }
        return gi_jinja_text_value(gi_jinja_text_string(&text));
    }
    return slice;
}

//-- operators -------------------------------------------------------------------------------------

static bool is_number(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_INT || value.kind == GI_JINJA_BOOL;
}

static struct gi_jinja_value calculate(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                       int64_t a, int64_t b)
{
    int64_t result = 0;
    bool is_over = false;
    switch (node->op) {
    case GI_JINJA_ADD:
        is_over = __builtin_add_overflow(a, b, &result);
        break;
    case GI_JINJA_SUBTRACT:
        is_over = __builtin_sub_overflow(a, b, &result);
        break;
    case GI_JINJA_MULTIPLY:
        is_over = __builtin_mul_overflow(a, b, &result);
        break;
    default: // rounded down
        is_over = b == 0 || (a == INT64_MIN && b == -1);
        if (!is_over) {
            const int64_t rest = a % b, is_down = rest != 0 && (rest < 0) != (b < 0);
            result = node->op == GI_JINJA_MODULO ? rest + (is_down ? b : 0) : a / b - is_down;
        }
        break;
    }
    if (is_over) {
        gi_jinja_run_fail(run, node, "a number is out of range");
    }
    return gi_jinja_int(result);
}

static struct gi_jinja_value join_strings(struct gi_jinja_run *run, struct gi_jinja_string a,
                                          struct gi_jinja_string b)
{
    struct gi_jinja_text text = {0};
    gi_jinja_append(&run->pool, &text, a);
    gi_jinja_append(&run->pool, &text, b);
    return gi_jinja_text_value(gi_jinja_text_string(&text));
}

static struct gi_jinja_value join_lists(struct gi_jinja_run *run, const struct gi_jinja_list *a,
                                        const struct gi_jinja_list *b)
{
    struct gi_jinja_value list = gi_jinja_new_list(&run->pool);
    for (size_t i = 0; i < a->count + b->count && !run->pool.has_failed; i++) {
        gi_jinja_push(&run->pool, list.list, i < a->count ? a->items[i] : b->items[i - a->count]);
    }
    return list;
}

static bool contains(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                     struct gi_jinja_value what, struct gi_jinja_value where)
{
    if (where.kind == GI_JINJA_STRING) {
        return what.kind == GI_JINJA_STRING &&
               gi_jinja_locate(where.string, what.string, 0) != SIZE_MAX;
    }
    const struct gi_jinja_list list = gi_jinja_elements(run, node, where);
    for (size_t i = 0; i < list.count; i++) {
        if (gi_jinja_is_equal(&run->pool, list.items[i], what)) {
            return true;
        }
    }
    return false;
}

static int compare_strings(struct gi_jinja_string a, struct gi_jinja_string b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static struct gi_jinja_value compare(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                     struct gi_jinja_value a, struct gi_jinja_value b)
{
    int order = 0;
    if (is_number(a) && is_number(b)) {
        order = (a.number > b.number) - (a.number < b.number);
    } else if (a.kind == GI_JINJA_STRING && b.kind == GI_JINJA_STRING) {
        order = compare_strings(a.string, b.string);
    } else {
        gi_jinja_run_fail(run, node, "%s and %s have no order", gi_jinja_kind_name(a.kind),
                          gi_jinja_kind_name(b.kind));
    }
    switch (node->op) {
    case GI_JINJA_LESS:
        return gi_jinja_bool(order < 0);
    case GI_JINJA_LESS_EQUAL:
        return gi_jinja_bool(order <= 0);
    case GI_JINJA_MORE:
        return gi_jinja_bool(order > 0);
    default:
        return gi_jinja_bool(order >= 0);
    }
}

static struct gi_jinja_value add(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                 struct gi_jinja_value a, struct gi_jinja_value b)
{
    if (is_number(a) && is_number(b)) {
        return calculate(run, node, a.number, b.number);
    }
    if (node->op == GI_JINJA_ADD && a.kind == GI_JINJA_STRING && b.kind == GI_JINJA_STRING) {
        return join_strings(run, a.string, b.string);
    }
    if (node->op == GI_JINJA_ADD && a.kind == GI_JINJA_LIST && b.kind == GI_JINJA_LIST) {
        return join_lists(run, a.list, b.list);
    }
    gi_jinja_run_fail(run, node, "%s and %s cannot be put together", gi_jinja_kind_name(a.kind),
                      gi_jinja_kind_name(b.kind));
    return gi_jinja_undefined();
}

static struct gi_jinja_value evaluate_binary(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node)
{
    const struct gi_jinja_value a = gi_jinja_evaluate_node(run, node->a);
    const struct gi_jinja_value b = gi_jinja_evaluate_node(run, node->b);
    if (run->pool.has_failed) {
        return gi_jinja_undefined();
    }
    gi_jinja_charge(run, a);
    gi_jinja_charge(run, b);
    switch (node->op) {
    case GI_JINJA_JOIN:
        return join_strings(run, gi_jinja_to_string(&run->pool, a),
                            gi_jinja_to_string(&run->pool, b));
    case GI_JINJA_EQUAL:
        return gi_jinja_bool(gi_jinja_is_equal(&run->pool, a, b));
    case GI_JINJA_UNEQUAL:
        return gi_jinja_bool(!gi_jinja_is_equal(&run->pool, a, b));
    case GI_JINJA_IN:
        return gi_jinja_bool(contains(run, node, a, b));
    case GI_JINJA_NOT_IN:
        return gi_jinja_bool(!contains(run, node, a, b));
    case GI_JINJA_LESS:
    case GI_JINJA_LESS_EQUAL:
    case GI_JINJA_MORE:
    case GI_JINJA_MORE_EQUAL:
        return compare(run, node, a, b);
    default:
        return add(run, node, a, b);
    }
}

//-- names and calls -------------------------------------------------------------------------------

static struct gi_jinja_value look_up(struct gi_jinja_run *run, struct gi_jinja_string name)
{
    const struct gi_jinja_value key = gi_jinja_text_value(name);
    for (const struct gi_jinja_scope *scope = run->scope; scope; scope = scope->parent) {
        for (size_t i = 0; i < scope->variables.keys.count; i++) {
            if (gi_jinja_is_equal(&run->pool, scope->variables.keys.items[i], key)) {
                return scope->variables.values.items[i];
            }
        }
    }
    return gi_jinja_has_function(name) ? (struct gi_jinja_value){.kind = GI_JINJA_MACRO}
                                       : gi_jinja_undefined();
}

void gi_jinja_read_arguments(struct gi_jinja_run *run, const struct gi_jinja_node *list,
                             struct gi_jinja_arguments *arguments)
{
    memset(arguments, 0, sizeof(*arguments));
    for (; list && !run->pool.has_failed; list = list->next) {
        const struct gi_jinja_value value = gi_jinja_evaluate_node(run, list->a);
        gi_jinja_charge(run, value);
        if (list->name.size) {
            gi_jinja_put(&run->pool, &arguments->named, gi_jinja_text_value(list->name), value);
        } else {
            gi_jinja_push(&run->pool, &arguments->values, value);
        }
    }
}

struct gi_jinja_value gi_jinja_argument(const struct gi_jinja_arguments *arguments, size_t i,
                                        const char *name)
{
    if (i < arguments->values.count) {
        return arguments->values.items[i];
    }
    for (size_t k = 0; k < arguments->named.keys.count; k++) {
        if (gi_jinja_is(arguments->named.keys.items[k].string, name)) {
            return arguments->named.values.items[k];
        }
    }
    return gi_jinja_undefined();
}

static struct gi_jinja_value evaluate_call(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    const struct gi_jinja_node *callee = node->a;
    struct gi_jinja_arguments arguments;
    struct gi_jinja_value object = gi_jinja_undefined();
    if (callee->kind == GI_JINJA_NODE_ATTRIBUTE) {
        object = gi_jinja_evaluate_node(run, callee->a);
    } else if (callee->kind == GI_JINJA_NODE_NAME) {
        object = look_up(run, callee->name);
    }
    gi_jinja_read_arguments(run, node->list, &arguments);
    if (run->pool.has_failed) {
        return gi_jinja_undefined();
    }
    if (callee->kind == GI_JINJA_NODE_ATTRIBUTE) {
        return gi_jinja_method(run, callee, object, &arguments);
    }
    if (object.kind == GI_JINJA_MACRO && object.macro) {
        return gi_jinja_call_macro(run, object.macro, &arguments);
    }
    if (callee->kind != GI_JINJA_NODE_NAME) {
        gi_jinja_run_fail(run, node, "what is called is no function");
        return gi_jinja_undefined();
    }
    return gi_jinja_function(run, node, callee->name, &arguments);
}

static struct gi_jinja_value evaluate_list(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value list = gi_jinja_new_list(&run->pool);
    for (node = node->list; node && !run->pool.has_failed; node = node->next) {
        gi_jinja_push(&run->pool, list.list, gi_jinja_evaluate_node(run, node));
    }
    return list;
}

static struct gi_jinja_value evaluate_dict(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value dict = gi_jinja_new_dict(&run->pool);
    for (node = node->list; node && !run->pool.has_failed; node = node->next->next) {
        const struct gi_jinja_value key = gi_jinja_evaluate_node(run, node);
        gi_jinja_put(&run->pool, dict.dict, key, gi_jinja_evaluate_node(run, node->next));
    }
    return dict;
}

static struct gi_jinja_value evaluate_filter(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node)
{
    struct gi_jinja_arguments arguments;
    const struct gi_jinja_value value = gi_jinja_evaluate_node(run, node->a);
    gi_jinja_read_arguments(run, node->list, &arguments);
    return run->pool.has_failed ? gi_jinja_undefined()
                                : gi_jinja_filter(run, node, node->name, value, &arguments);
}

static struct gi_jinja_value evaluate_test(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    const struct gi_jinja_value value = gi_jinja_evaluate_node(run, node->a);
    const struct gi_jinja_value argument =
        node->list ? gi_jinja_evaluate_node(run, node->list->a) : gi_jinja_undefined();
    return gi_jinja_bool(!run->pool.has_failed &&
                         gi_jinja_test(run, node, node->name, value, argument));
}

static struct gi_jinja_value evaluate_logic(struct gi_jinja_run *run,
                                            const struct gi_jinja_node *node)
{
    if (node->kind == GI_JINJA_NODE_IF_ELSE) {
        const bool is_first = gi_jinja_is_true(gi_jinja_evaluate_node(run, node->b));
        const struct gi_jinja_node *chosen = is_first ? node->a : node->c;
        return chosen ? gi_jinja_evaluate_node(run, chosen) : gi_jinja_undefined();
    }
    const struct gi_jinja_value a = gi_jinja_evaluate_node(run, node->a);
    switch (node->kind) {
    case GI_JINJA_NODE_NOT:
        return gi_jinja_bool(!gi_jinja_is_true(a));
    case GI_JINJA_NODE_AND:
        return gi_jinja_is_true(a) ? gi_jinja_evaluate_node(run, node->b) : a;
    default:
        return gi_jinja_is_true(a) ? a : gi_jinja_evaluate_node(run, node->b);
    }
}

static struct gi_jinja_value evaluate_kind(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value a, b;
    switch (node->kind) {
    case GI_JINJA_NODE_CONSTANT:
        return node->constant;
    case GI_JINJA_NODE_NAME:
        return look_up(run, node->name);
    case GI_JINJA_NODE_LIST:
        return evaluate_list(run, node);
    case GI_JINJA_NODE_DICT:
        return evaluate_dict(run, node);
    case GI_JINJA_NODE_ATTRIBUTE:
        return take_item(run, node, gi_jinja_evaluate_node(run, node->a),
                         gi_jinja_text_value(node->name));
    case GI_JINJA_NODE_ITEM:
        a = gi_jinja_evaluate_node(run, node->a);
        b = gi_jinja_evaluate_node(run, node->b);
        return run->pool.has_failed ? gi_jinja_undefined() : take_item(run, node, a, b);
    case GI_JINJA_NODE_SLICE:
        return evaluate_slice(run, node);
    case GI_JINJA_NODE_CALL:
        return evaluate_call(run, node);
    case GI_JINJA_NODE_FILTER:
        return evaluate_filter(run, node);
    case GI_JINJA_NODE_TEST:
        return evaluate_test(run, node);
    case GI_JINJA_NODE_BINARY:
        return evaluate_binary(run, node);
    case GI_JINJA_NODE_NEGATE:
        a = gi_jinja_evaluate_node(run, node->a);
        return gi_jinja_int(is_number(a) && a.number != INT64_MIN ? -a.number : 0);
    default:
        return evaluate_logic(run, node);
    }
}

struct gi_jinja_value gi_jinja_evaluate_node(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node)
{
    if (!node || run->pool.has_failed) {
        return gi_jinja_undefined();
    }
    if (++run->n_steps > MAX_STEPS || run->depth >= MAX_DEPTH) {
        gi_jinja_run_fail(run, node, "it %s",
                          run->depth >= MAX_DEPTH ? "nests too deeply" : "takes too long");
        return gi_jinja_undefined();
    }
    run->depth++;
    const struct gi_jinja_value value = evaluate_kind(run, node);
    run->depth--;
    return run->pool.has_failed ? gi_jinja_undefined() : value;
}
