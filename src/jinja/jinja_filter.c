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

// Each of these reads its option: the kinds that pass, as bits; the truth that is asked for; the
// orders that pass: 1 below, 2 equal, 4 above.
static struct gi_jinja_value test_kind(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(call->option >> call->value.kind & 1);
}

static struct gi_jinja_value test_truth(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(call->value.kind == GI_JINJA_BOOL && call->value.number == call->option);
}

static struct gi_jinja_value test_equal(const struct gi_jinja_call *call)
{
    const bool is_equal =
        gi_jinja_is_equal(call->pool, call->value, gi_jinja_argument(call, 0, ""));
    return gi_jinja_bool(is_equal == (call->option != 0));
}

static struct gi_jinja_value test_order(const struct gi_jinja_call *call)
{
    const int order = gi_jinja_order(call->pool, call->value, gi_jinja_argument(call, 0, ""), true);
    return gi_jinja_bool(call->option & (order < 0 ? 1 : order == 0 ? 2 : 4));
}

static struct gi_jinja_value test_in(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(
        gi_jinja_contains(call->pool, gi_jinja_argument(call, 0, ""), call->value));
}

static struct gi_jinja_value test_even(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(is_divisible(call->value, 2) == (call->option != 0));
}

static struct gi_jinja_value test_divisible(const struct gi_jinja_call *call)
{
    return gi_jinja_bool(
        is_divisible(call->value, gi_jinja_int_argument(call, 0, "num", INT64_MIN, INT64_MAX, 0)));
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
    return gi_jinja_value_of(
        gi_jinja_change_case(call->pool, text_of(call), (enum gi_jinja_case)call->option));
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

// clang-format off
#define HAS_ELEMENTS (1 << GI_JINJA_STRING | 1 << GI_JINJA_LIST | 1 << GI_JINJA_DICT | 1 << GI_JINJA_UNDEFINED)
const struct gi_jinja_builtin gi_jinja_filters[] = {
    {"undefined", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_UNDEFINED},
    {"defined", GI_JINJA_TEST, test_kind, ~(1 << GI_JINJA_UNDEFINED)},
    {"none", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_NONE},
    {"boolean", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_BOOL},
    {"integer", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_INT},
    {"number", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_INT | 1 << GI_JINJA_FLOAT | 1 << GI_JINJA_BOOL},
    {"float", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_FLOAT},
    {"string", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_STRING},
    {"mapping", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_DICT},
    {"callable", GI_JINJA_TEST, test_kind, 1 << GI_JINJA_MACRO},
    {"iterable", GI_JINJA_TEST, test_kind, HAS_ELEMENTS},
    {"sequence", GI_JINJA_TEST, test_kind, HAS_ELEMENTS},
    {"true", GI_JINJA_TEST, test_truth, 1},
    {"false", GI_JINJA_TEST, test_truth, 0},
    {"equalto", GI_JINJA_TEST, test_equal, 1},
    {"eq", GI_JINJA_TEST, test_equal, 1},
    {"==", GI_JINJA_TEST, test_equal, 1},
    {"sameas", GI_JINJA_TEST, test_equal, 1},
    {"ne", GI_JINJA_TEST, test_equal, 0},
    {"!=", GI_JINJA_TEST, test_equal, 0},
    {"lt", GI_JINJA_TEST, test_order, 1},
    {"lessthan", GI_JINJA_TEST, test_order, 1},
    {"<", GI_JINJA_TEST, test_order, 1},
    {"le", GI_JINJA_TEST, test_order, 1 | 2},
    {"<=", GI_JINJA_TEST, test_order, 1 | 2},
    {"gt", GI_JINJA_TEST, test_order, 4},
    {"greaterthan", GI_JINJA_TEST, test_order, 4},
    {">", GI_JINJA_TEST, test_order, 4},
    {"ge", GI_JINJA_TEST, test_order, 2 | 4},
    {">=", GI_JINJA_TEST, test_order, 2 | 4},
    {"in", GI_JINJA_TEST, test_in, 0},
    {"even", GI_JINJA_TEST, test_even, 1},
    {"odd", GI_JINJA_TEST, test_even, 0},
    {"divisibleby", GI_JINJA_TEST, test_divisible, 0},
    {"trim", GI_JINJA_FILTER, filter_trim, 0},
    {"upper", GI_JINJA_FILTER | GI_JINJA_OF_STRING, filter_case, GI_JINJA_CASE_UPPER},
    {"lower", GI_JINJA_FILTER | GI_JINJA_OF_STRING, filter_case, GI_JINJA_CASE_LOWER},
    {"title", GI_JINJA_FILTER | GI_JINJA_OF_STRING, filter_case, GI_JINJA_CASE_TITLE},
    {"capitalize", GI_JINJA_FILTER | GI_JINJA_OF_STRING, filter_case, GI_JINJA_CASE_CAPITALIZE},
    {"string", GI_JINJA_FILTER, filter_string, 0},
    {"safe", GI_JINJA_FILTER, filter_same, 0},
    {"default", GI_JINJA_FILTER, filter_default, 0},
    {"d", GI_JINJA_FILTER, filter_default, 0},
    {"tojson", GI_JINJA_FILTER, filter_json, 0},
    {"from_json", GI_JINJA_FILTER, filter_from_json, 0},
    {"replace", GI_JINJA_FILTER, filter_replace, 0},
    {"abs", GI_JINJA_FILTER, filter_abs, 0},
    {"int", GI_JINJA_FILTER, filter_int, 0},
    {"indent", GI_JINJA_FILTER, filter_indent, 0},
    {NULL, 0, NULL, 0},
};
// clang-format on
