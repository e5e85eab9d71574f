#include "jinja/jinja_json.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_write.h"

#include <math.h>
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
    {"undefined", 1u << GI_JINJA_UNDEFINED},
    {"defined", ~(1u << GI_JINJA_UNDEFINED)},
    {"none", 1u << GI_JINJA_NONE},
    {"boolean", 1u << GI_JINJA_BOOL},
    {"integer", 1u << GI_JINJA_INT},
    {"number", 1u << GI_JINJA_INT | 1u << GI_JINJA_FLOAT | 1u << GI_JINJA_BOOL},
    {"float", 1u << GI_JINJA_FLOAT},
    {"string", 1u << GI_JINJA_STRING},
    {"mapping", 1u << GI_JINJA_DICT},
    {"callable", 1u << GI_JINJA_MACRO},
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
    const bool is_not = gi_jinja_is(call->name, "ne") || gi_jinja_is(call->name, "!=");
    return gi_jinja_bool(is_equal != is_not);
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

static struct gi_jinja_value test_more(const struct gi_jinja_call *call)
{
    const int order = gi_jinja_order(call->pool, call->value, gi_jinja_argument(call, 0, ""), true);
    const bool is_less = gi_jinja_is(call->name, "lt") || gi_jinja_is(call->name, "lessthan") ||
                         gi_jinja_is(call->name, "<");
    return gi_jinja_bool(is_less ? order < 0 : order > 0);
}

static struct gi_jinja_value test_not_less(const struct gi_jinja_call *call)
{
    const int order = gi_jinja_order(call->pool, call->value, gi_jinja_argument(call, 0, ""), true);
    const bool is_up = gi_jinja_is(call->name, "ge") || gi_jinja_is(call->name, ">=");
    return gi_jinja_bool(is_up ? order >= 0 : order <= 0);
}

bool gi_jinja_test(const struct gi_jinja_call *call)
{
    static const struct gi_jinja_builtin tests[] = {{"true", test_truth},
                                                    {"false", test_truth},
                                                    {"equalto", test_equal},
                                                    {"eq", test_equal},
                                                    {"==", test_equal},
                                                    {"sameas", test_equal},
                                                    {"ne", test_equal},
                                                    {"!=", test_equal},
                                                    {"gt", test_more},
                                                    {"greaterthan", test_more},
                                                    {">", test_more},
                                                    {"lt", test_more},
                                                    {"lessthan", test_more},
                                                    {"<", test_more},
                                                    {"ge", test_not_less},
                                                    {">=", test_not_less},
                                                    {"le", test_not_less},
                                                    {"<=", test_not_less},
                                                    {"in", test_in},
                                                    {"odd", test_parity},
                                                    {"even", test_parity},
                                                    {"divisibleby", test_divisible},
                                                    {NULL, NULL}};
    for (size_t i = 0; i < sizeof(kind_tests) / sizeof(kind_tests[0]); i++) {
        if (gi_jinja_is(call->name, kind_tests[i].name)) {
            return kind_tests[i].kinds >> call->value.kind & 1;
        }
    }
    const struct gi_jinja_builtin *test = gi_jinja_find_builtin(tests, call->name);
    if (!test) {
        gi_jinja_refuse(call->pool, "unknown test '%.*s'", (int)call->name.size, call->name.data);
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

// Returns a named argument; undefined if it is not given.
static struct gi_jinja_value named(const struct gi_jinja_call *call, const char *name)
{
    return gi_jinja_get(call->pool, &call->named, gi_jinja_constant(name));
}

// Writes JSON as Python's json.dumps does: with an indent lines end with their comma.
static struct gi_jinja_value filter_json(const struct gi_jinja_call *call)
{
    const int64_t indent = gi_jinja_int_argument(call, 1, "indent", 0, 16, -1);
    const struct gi_jinja_value separators = named(call, "separators");
    struct gi_jinja_json_form form = {
        .indent = (int)indent,
        .comma = gi_jinja_string_of(indent < 0 ? ", " : ","),
        .colon = gi_jinja_string_of(": "),
        .is_ascii = gi_jinja_is_true(gi_jinja_argument(call, 0, "ensure_ascii")),
        .is_sorted = gi_jinja_is_true(named(call, "sort_keys")),
    };
    if (separators.kind == GI_JINJA_LIST && separators.list->count == 2) {
        form.comma = gi_jinja_to_string(call->pool, separators.list->items[0]);
        form.colon = gi_jinja_to_string(call->pool, separators.list->items[1]);
    }
    return gi_jinja_to_json(call->pool, call->value, &form);
}

static struct gi_jinja_value filter_from_json(const struct gi_jinja_call *call)
{
    return call->value.kind == GI_JINJA_STRING
               ? gi_jinja_parse_json(call->pool, call->value.string)
               : gi_jinja_refuse(call->pool, "%s is not JSON text",
                                 gi_jinja_kind_name(call->value.kind));
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
    if (call->value.kind == GI_JINJA_FLOAT) {
        const double real = gi_jinja_real(call->value);
        return fabs(real) < 0x1p63 ? gi_jinja_int((int64_t)real) : call->value;
    }
    if (call->value.kind != GI_JINJA_STRING) {
        return gi_jinja_int(gi_jinja_is_number(call->value) ? call->value.number : 0);
    }
    if (string.size && string.size < sizeof(digits)) {
        memcpy(digits, string.data, string.size);
    }
    return gi_jinja_int(strtoll(digits, NULL, 10));
}

static struct gi_jinja_value filter_abs(const struct gi_jinja_call *call)
{
    const struct gi_jinja_value value = call->value;
    return gi_jinja_is_number(value) && value.number > INT64_MIN
               ? gi_jinja_int(value.number < 0 ? -value.number : value.number)
               : gi_jinja_refuse(call->pool, "%s has no absolute value",
                                 gi_jinja_kind_name(value.kind));
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

struct gi_jinja_value gi_jinja_filter(const struct gi_jinja_call *call)
{
    static const struct gi_jinja_builtin filters[] = {
        {"trim", filter_trim},       {"upper", filter_case},
        {"lower", filter_case},      {"title", filter_case},
        {"capitalize", filter_case}, {"string", filter_string},
        {"safe", filter_same},       {"default", filter_default},
        {"d", filter_default},       {"tojson", filter_json},
        {"replace", filter_replace}, {"from_json", filter_from_json},
        {"abs", filter_abs},         {"int", filter_int},
        {"indent", filter_indent},   {NULL, NULL}};
    const struct gi_jinja_builtin *own = gi_jinja_find_builtin(filters, call->name);
    const struct gi_jinja_builtin *filter =
        own ? own : gi_jinja_find_builtin(gi_jinja_list_filters, call->name);
    gi_jinja_charge(call->pool, call->value);
    return filter ? filter->apply(call)
                  : gi_jinja_refuse(call->pool, "unknown filter '%.*s'", (int)call->name.size,
                                    call->name.data);
}
