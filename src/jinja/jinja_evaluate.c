#include "jinja/jinja_run.h"
#include "jinja/jinja_write.h"

#include <string.h>

enum { MAX_STEPS = 1000000, MAX_DEPTH = 200 };

//-- slices ----------------------------------------------------------------------------------------

// Returns a bound of a slice as Python reads it; `missing` if it is left out.
static int64_t read_bound(struct gi_jinja_run *run, const struct gi_jinja_node *node, int64_t n,
                          int64_t missing, int64_t least, int64_t most)
{
    const struct gi_jinja_value value = gi_jinja_evaluate(run, node);
    if (value.kind != GI_JINJA_INT) {
        return missing;
    }
    const int64_t bound = value.number < 0 ? value.number + n : value.number;
    return bound < least ? least : bound > most ? most : bound;
}

static struct gi_jinja_value evaluate_slice(struct gi_jinja_run *run,
                                            const struct gi_jinja_node *node)
{
    struct gi_jinja_pool *pool = &run->pool;
    const struct gi_jinja_value object = gi_jinja_evaluate(run, node->a);
    const struct gi_jinja_node *bounds = node->list;
    const struct gi_jinja_value by = gi_jinja_evaluate(run, bounds->next->next);
    const int64_t step = by.kind == GI_JINJA_INT ? by.number : 1;
    const int64_t n = (int64_t)gi_jinja_count(object);
    gi_jinja_charge(pool, object);
    if (step == 0 || step < -n - 1) {
        return gi_jinja_refuse(pool, "invalid step of a slice");
    }
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? n : n - 1;
    const int64_t begin = read_bound(run, bounds, n, step > 0 ? 0 : n - 1, least, most);
    const int64_t end = read_bound(run, bounds->next, n, step > 0 ? n : -1, least, most);
    if (object.kind == GI_JINJA_STRING && step == 1) {
        const size_t first = gi_jinja_character(object.string, (size_t)begin);
        const size_t last = end > begin ? gi_jinja_character(object.string, (size_t)end) : first;
        return gi_jinja_value_of(gi_jinja_part(object.string, first, last));
    }
    struct gi_jinja_value slice = gi_jinja_new_list(pool);
    const struct gi_jinja_list list = gi_jinja_elements(pool, object);
    for (int64_t i = begin; list.items && (step > 0 ? i < end : i > end) && !pool->has_failed;
         i += step) {
        gi_jinja_push(pool, slice.list, list.items[i]);
        if (step > 0 && i > INT64_MAX - step) {
            break;
        }
    }
    return object.kind == GI_JINJA_STRING ? gi_jinja_join(pool, slice, gi_jinja_string_of(""), NULL)
                                          : slice;
}

//-- operators -------------------------------------------------------------------------------------

static struct gi_jinja_value calculate(struct gi_jinja_pool *pool, enum gi_jinja_operator op,
                                       int64_t a, int64_t b)
{
    int64_t result = 0;
    bool is_over = false;
    switch (op) {
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
            result = op == GI_JINJA_MODULO ? rest + (is_down ? b : 0) : a / b - is_down;
        }
        break;
    }
    return is_over ? gi_jinja_refuse(pool, "a number is out of range") : gi_jinja_int(result);
}

static struct gi_jinja_value join_strings(struct gi_jinja_pool *pool, struct gi_jinja_string a,
                                          struct gi_jinja_string b)
{
    struct gi_jinja_text text = {0};
    gi_jinja_append(pool, &text, a);
    gi_jinja_append(pool, &text, b);
    return gi_jinja_written(&text);
}

static struct gi_jinja_value repeat_string(struct gi_jinja_pool *pool,
                                           struct gi_jinja_string string, int64_t n)
{
    struct gi_jinja_text text = {0};
    for (int64_t i = 0; i < n && string.size && !pool->has_failed; i++) {
        gi_jinja_append(pool, &text, string);
    }
    return gi_jinja_written(&text);
}

static struct gi_jinja_value compare(struct gi_jinja_pool *pool, enum gi_jinja_operator op,
                                     struct gi_jinja_value a, struct gi_jinja_value b)
{
    const int order = gi_jinja_order(pool, a, b, true);
    return gi_jinja_bool(op == GI_JINJA_LESS         ? order < 0
                         : op == GI_JINJA_LESS_EQUAL ? order <= 0
                         : op == GI_JINJA_MORE       ? order > 0
                                                     : order >= 0);
}

static struct gi_jinja_value add(struct gi_jinja_pool *pool, enum gi_jinja_operator op,
                                 struct gi_jinja_value a, struct gi_jinja_value b)
{
    if (gi_jinja_is_number(a) && gi_jinja_is_number(b)) {
        return calculate(pool, op, a.number, b.number);
    }
    if (op == GI_JINJA_ADD && a.kind == GI_JINJA_STRING && b.kind == GI_JINJA_STRING) {
        return join_strings(pool, a.string, b.string);
    }
    if (op == GI_JINJA_MULTIPLY && a.kind == GI_JINJA_STRING && b.kind == GI_JINJA_INT) {
        return repeat_string(pool, a.string, b.number);
    }
    if (op == GI_JINJA_ADD && a.kind == GI_JINJA_LIST && b.kind == GI_JINJA_LIST) {
        struct gi_jinja_value list = gi_jinja_new_list(pool);
        const size_t n = a.list->count;
        for (size_t i = 0; i < n + b.list->count && !pool->has_failed; i++) {
            gi_jinja_push(pool, list.list, i < n ? a.list->items[i] : b.list->items[i - n]);
        }
        return list;
    }
    return gi_jinja_refuse(pool, "cannot concatenate %s and %s", gi_jinja_kind_name(a.kind),
                           gi_jinja_kind_name(b.kind));
}

static struct gi_jinja_value evaluate_binary(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node)
{
    struct gi_jinja_pool *pool = &run->pool;
    const struct gi_jinja_value a = gi_jinja_evaluate(run, node->a);
    const struct gi_jinja_value b = gi_jinja_evaluate(run, node->b);
    if (pool->has_failed) {
        return gi_jinja_undefined();
    }
    gi_jinja_charge(pool, a);
    gi_jinja_charge(pool, b);
    switch (node->op) {
    case GI_JINJA_JOIN:
        return join_strings(pool, gi_jinja_to_string(pool, a), gi_jinja_to_string(pool, b));
    case GI_JINJA_EQUAL:
    case GI_JINJA_UNEQUAL:
        return gi_jinja_bool(gi_jinja_is_equal(pool, a, b) == (node->op == GI_JINJA_EQUAL));
    case GI_JINJA_IN:
    case GI_JINJA_NOT_IN:
        return gi_jinja_bool(gi_jinja_contains(pool, b, a) == (node->op == GI_JINJA_IN));
    case GI_JINJA_LESS:
    case GI_JINJA_LESS_EQUAL:
    case GI_JINJA_MORE:
    case GI_JINJA_MORE_EQUAL:
        return compare(pool, node->op, a, b);
    default:
        return add(pool, node->op, a, b);
    }
}

//-- names and calls -------------------------------------------------------------------------------

// True for the name of the body that the macro was called with.
static bool is_caller(const struct gi_jinja_run *run, struct gi_jinja_string name)
{
    return run->caller && gi_jinja_is(name, "caller");
}

static struct gi_jinja_value look_up(struct gi_jinja_run *run, struct gi_jinja_string name)
{
    for (const struct gi_jinja_scope *scope = run->scope; scope; scope = scope->parent) {
        const struct gi_jinja_value *found =
            gi_jinja_find(&run->pool, &scope->variables, gi_jinja_value_of(name));
        if (found) {
            return *found;
        }
    }
    return gi_jinja_has(name, GI_JINJA_FUNCTION) || is_caller(run, name)
               ? (struct gi_jinja_value){.kind = GI_JINJA_MACRO}
               : gi_jinja_undefined();
}

static void push_all(struct gi_jinja_pool *pool, struct gi_jinja_list *list,
                     struct gi_jinja_list more)
{
    for (size_t i = 0; i < more.count && !pool->has_failed; i++) {
        gi_jinja_push(pool, list, more.items[i]);
    }
}

// Returns a call with the arguments of a list evaluated.
static struct gi_jinja_call read_call(struct gi_jinja_run *run, struct gi_jinja_string name,
                                      struct gi_jinja_value value, const struct gi_jinja_node *list)
{
    struct gi_jinja_call call = {.run = run, .pool = &run->pool, .name = name, .value = value};
    for (; list && !run->pool.has_failed; list = list->next) {
        const struct gi_jinja_value argument = gi_jinja_evaluate(run, list->a);
        gi_jinja_charge(call.pool, argument);
        if (list->op == GI_JINJA_MULTIPLY) {
            push_all(call.pool, &call.arguments, gi_jinja_elements(call.pool, argument));
        } else if (list->name.size) {
            gi_jinja_set(call.pool, &call.named, gi_jinja_value_of(list->name), argument);
        } else {
            gi_jinja_push(call.pool, &call.arguments, argument);
        }
    }
    return call;
}

struct gi_jinja_value gi_jinja_argument(const struct gi_jinja_call *call, size_t i,
                                        const char *name)
{
    return i < call->arguments.count
               ? call->arguments.items[i]
               : gi_jinja_get(call->pool, &call->named, gi_jinja_constant(name));
}

const struct gi_jinja_string *gi_jinja_string_argument(const struct gi_jinja_call *call, size_t i)
{
    return i < call->arguments.count && call->arguments.items[i].kind == GI_JINJA_STRING
               ? &call->arguments.items[i].string
               : NULL;
}

int64_t gi_jinja_int_argument(const struct gi_jinja_call *call, size_t i, const char *name,
                              int64_t least, int64_t most, int64_t fallback)
{
    const struct gi_jinja_value value = gi_jinja_argument(call, i, name);
    const bool is_there =
        value.kind == GI_JINJA_INT && value.number >= least && value.number <= most;
    return is_there ? value.number : fallback;
}

static const struct gi_jinja_builtin *find_builtin(struct gi_jinja_string name,
                                                   enum gi_jinja_use use)
{
    const struct gi_jinja_builtin *const tables[] = {gi_jinja_filters, gi_jinja_list_filters,
                                                     gi_jinja_methods};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct gi_jinja_builtin *row = tables[i]; row->name; row++) {
            if ((row->uses & use) && gi_jinja_is(name, row->name)) {
                return row;
            }
        }
    }
    return NULL;
}

bool gi_jinja_has(struct gi_jinja_string name, enum gi_jinja_use use)
{
    return find_builtin(name, use) != NULL;
}

struct gi_jinja_value gi_jinja_apply(const struct gi_jinja_call *call, enum gi_jinja_use use)
{
    const struct gi_jinja_builtin *row = find_builtin(call->name, use);
    struct gi_jinja_call own = *call;
    if (use != GI_JINJA_TEST && use != GI_JINJA_FUNCTION) {
        gi_jinja_charge(call->pool, call->value);
    }
    if (!row) {
        const char *what = use == GI_JINJA_FILTER ? "filter"
                           : use == GI_JINJA_TEST ? "test"
                                                  : "function";
        return gi_jinja_refuse(call->pool, "unknown %s '%.*s'", what, (int)call->name.size,
                               call->name.data);
    }
    own.option = row->option;
    return row->apply(&own);
}

// Calls a method, or a macro that a mapping has.
static struct gi_jinja_value call_method(const struct gi_jinja_call *call)
{
    const enum gi_jinja_kind kind = call->value.kind;
    const enum gi_jinja_use use = kind == GI_JINJA_STRING ? GI_JINJA_OF_STRING
                                  : kind == GI_JINJA_LIST ? GI_JINJA_OF_LIST
                                                          : GI_JINJA_OF_DICT;
    if ((kind == GI_JINJA_DICT || use != GI_JINJA_OF_DICT) && gi_jinja_has(call->name, use)) {
        return gi_jinja_apply(call, use);
    }
    gi_jinja_charge(call->pool, call->value);
    const struct gi_jinja_value macro =
        gi_jinja_item(call->pool, call->value, gi_jinja_value_of(call->name));
    if (macro.kind == GI_JINJA_MACRO && macro.macro) {
        return gi_jinja_call_macro(call, macro.macro);
    }
    return gi_jinja_refuse(call->pool, "%s has no method '%.*s'", gi_jinja_kind_name(kind),
                           (int)call->name.size, call->name.data);
}

struct gi_jinja_value gi_jinja_evaluate_call(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node,
                                             const struct gi_jinja_caller *caller)
{
    const struct gi_jinja_node *callee = node->a;
    const bool is_method = callee->kind == GI_JINJA_NODE_ATTRIBUTE;
    const bool is_name = callee->kind == GI_JINJA_NODE_NAME;
    const struct gi_jinja_value value = is_method ? gi_jinja_evaluate(run, callee->a)
                                        : is_name ? look_up(run, callee->name)
                                                  : gi_jinja_evaluate(run, callee);
    struct gi_jinja_call call = read_call(run, callee->name, value, node->list);
    call.caller = caller;
    if (run->pool.has_failed) {
        return gi_jinja_undefined();
    }
    if (is_name && is_caller(run, callee->name)) {
        return gi_jinja_call_caller(&call);
    }
    if (is_method) {
        return call_method(&call);
    }
    if (value.kind == GI_JINJA_MACRO && value.macro) {
        return gi_jinja_call_macro(&call, value.macro);
    }
    return is_name ? gi_jinja_apply(&call, GI_JINJA_FUNCTION)
                   : gi_jinja_refuse(&run->pool, "value is not callable");
}

// Evaluates a filter or a test.
static struct gi_jinja_value evaluate_filter(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node)
{
    const struct gi_jinja_value value = gi_jinja_evaluate(run, node->a);
    const struct gi_jinja_call call = read_call(run, node->name, value, node->list);
    if (run->pool.has_failed) {
        return gi_jinja_undefined();
    }
    return gi_jinja_apply(&call,
                          node->kind == GI_JINJA_NODE_TEST ? GI_JINJA_TEST : GI_JINJA_FILTER);
}

//-- expressions -----------------------------------------------------------------------------------

static struct gi_jinja_value evaluate_list(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value list = gi_jinja_new_list(&run->pool);
    for (node = node->list; node && !run->pool.has_failed; node = node->next) {
        gi_jinja_push(&run->pool, list.list, gi_jinja_evaluate(run, node));
    }
    return list;
}

static struct gi_jinja_value evaluate_dict(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value dict = gi_jinja_new_dict(&run->pool);
    for (node = node->list; node && !run->pool.has_failed; node = node->next->next) {
        const struct gi_jinja_value key = gi_jinja_evaluate(run, node);
        gi_jinja_set(&run->pool, dict.dict, key, gi_jinja_evaluate(run, node->next));
    }
    return dict;
}

static struct gi_jinja_value evaluate_item(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    const struct gi_jinja_value object = gi_jinja_evaluate(run, node->a);
    const struct gi_jinja_value key =
        node->b ? gi_jinja_evaluate(run, node->b) : gi_jinja_value_of(node->name);
    return object.kind == GI_JINJA_UNDEFINED
               ? gi_jinja_refuse(&run->pool, "an undefined value has no elements")
               : gi_jinja_item(&run->pool, object, key);
}

static struct gi_jinja_value evaluate_logic(struct gi_jinja_run *run,
                                            const struct gi_jinja_node *node)
{
    if (node->kind == GI_JINJA_NODE_IF_ELSE) {
        const bool is_first = gi_jinja_is_true(gi_jinja_evaluate(run, node->b));
        return gi_jinja_evaluate(run, is_first ? node->a : node->c);
    }
    const struct gi_jinja_value a = gi_jinja_evaluate(run, node->a);
    const bool is_true = gi_jinja_is_true(a);
    if (node->kind == GI_JINJA_NODE_NOT) {
        return gi_jinja_bool(!is_true);
    }
    return is_true == (node->kind == GI_JINJA_NODE_AND) ? gi_jinja_evaluate(run, node->b) : a;
}

static struct gi_jinja_value evaluate_kind(struct gi_jinja_run *run,
                                           const struct gi_jinja_node *node)
{
    struct gi_jinja_value a;
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
    case GI_JINJA_NODE_ITEM:
        return evaluate_item(run, node);
    case GI_JINJA_NODE_SLICE:
        return evaluate_slice(run, node);
    case GI_JINJA_NODE_CALL:
        return gi_jinja_evaluate_call(run, node, NULL);
    case GI_JINJA_NODE_FILTER:
    case GI_JINJA_NODE_TEST:
        return evaluate_filter(run, node);
    case GI_JINJA_NODE_BINARY:
        return evaluate_binary(run, node);
    case GI_JINJA_NODE_NEGATE:
        a = gi_jinja_evaluate(run, node->a);
        return gi_jinja_is_number(a) && a.number != INT64_MIN
                   ? gi_jinja_int(-a.number)
                   : gi_jinja_refuse(&run->pool, "cannot negate %s", gi_jinja_kind_name(a.kind));
    case GI_JINJA_NODE_CAPTURE:
        return gi_jinja_capture(run, node->list);
    default:
        return evaluate_logic(run, node);
    }
}

struct gi_jinja_value gi_jinja_evaluate(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    struct gi_jinja_pool *pool = &run->pool;
    const unsigned line = pool->line;
    if (!node || pool->has_failed) {
        return gi_jinja_undefined();
    }
    pool->line = node->line;
    if (++run->n_steps > MAX_STEPS || run->depth >= MAX_DEPTH) {
        return gi_jinja_refuse(pool, "it %s",
                               run->depth >= MAX_DEPTH ? "nests too deeply" : "takes too long");
    }
    run->depth++;
    const struct gi_jinja_value value = evaluate_kind(run, node);
    run->depth--;
    pool->line = line;
    return pool->has_failed ? gi_jinja_undefined() : value;
}
