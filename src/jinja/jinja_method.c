#include "jinja/jinja.h"
#include "jinja/jinja_date.h"
#include "jinja/jinja_run.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// A call of a method.
struct call {
    struct gi_jinja_run *run;
    const struct gi_jinja_node *node;
    struct gi_jinja_value object;
    const struct gi_jinja_arguments *arguments;
};

static struct gi_jinja_value argument_at(const struct call *call, size_t i)
{
    return gi_jinja_argument(call->arguments, i, "");
}

// Argument i as a string; NULL where there is none.
static const struct gi_jinja_string *string_at(const struct call *call, size_t i)
{
    return i < call->arguments->values.count &&
                   call->arguments->values.items[i].kind == GI_JINJA_STRING
               ? &call->arguments->values.items[i].string
               : NULL;
}

static bool is_named(const struct call *call, const char *name)
{
    return gi_jinja_is(call->node->name, name);
}

//-- of strings ------------------------------------------------------------------------------------

static struct gi_jinja_value method_strip(const struct call *call)
{
    const enum gi_jinja_sides sides = is_named(call, "strip")    ? GI_JINJA_BOTH
                                      : is_named(call, "lstrip") ? GI_JINJA_LEFT
                                                                 : GI_JINJA_RIGHT;
    return gi_jinja_text_value(gi_jinja_strip(call->object.string, string_at(call, 0), sides));
}

static struct gi_jinja_value method_split(const struct call *call)
{
    struct gi_jinja_value at_most = argument_at(call, 1);
    if (at_most.kind != GI_JINJA_INT) {
        at_most =
            gi_jinja_get(&call->run->pool, &call->arguments->named, gi_jinja_constant("maxsplit"));
    }
    return gi_jinja_split(&call->run->pool, call->object.string, string_at(call, 0),
                          at_most.kind == GI_JINJA_INT ? at_most.number : -1);
}

static struct gi_jinja_value method_splitlines(const struct call *call)
{
    const struct gi_jinja_string newline = gi_jinja_string_of("\n");
    struct gi_jinja_string string = call->object.string;
    string.size -= string.size && string.data[string.size - 1] == '\n';
    return call->object.string.size ? gi_jinja_split(&call->run->pool, string, &newline, -1)
                                    : gi_jinja_new_list(&call->run->pool);
}

static bool has_affix(struct gi_jinja_string string, struct gi_jinja_value affix, bool is_end)
{
    if (affix.kind != GI_JINJA_STRING || affix.string.size > string.size) {
        return false;
    }
    const size_t begin = is_end ? string.size - affix.string.size : 0;
    return gi_jinja_same(gi_jinja_part(string, begin, begin + affix.string.size), affix.string);
}

static struct gi_jinja_value method_affix(const struct call *call)
{
    const struct gi_jinja_value affix = argument_at(call, 0);
    const bool is_end = is_named(call, "endswith");
    bool has_any = has_affix(call->object.string, affix, is_end);
    for (size_t i = 0; affix.kind == GI_JINJA_LIST && i < affix.list->count; i++) {
        has_any = has_any || has_affix(call->object.string, affix.list->items[i], is_end);
    }
    return gi_jinja_bool(has_any);
}

static struct gi_jinja_value method_remove(const struct call *call)
{
    const bool is_end = is_named(call, "removesuffix");
    const struct gi_jinja_string *affix = string_at(call, 0), string = call->object.string;
    if (!affix || !has_affix(string, gi_jinja_text_value(*affix), is_end)) {
        return call->object;
    }
    return gi_jinja_text_value(is_end ? gi_jinja_part(string, 0, string.size - affix->size)
                                      : gi_jinja_part(string, affix->size, string.size));
}

static struct gi_jinja_value method_case(const struct call *call)
{
    static const char *const names[] = {"upper", "lower", "title", "capitalize"};
    size_t to = 0;
    while (!is_named(call, names[to])) {
        to++;
    }
    return gi_jinja_text_value(
        gi_jinja_change_case(&call->run->pool, call->object.string, (enum gi_jinja_case)to));
}

static struct gi_jinja_value method_replace(const struct call *call)
{
    const struct gi_jinja_string *old = string_at(call, 0), *with = string_at(call, 1);
    const struct gi_jinja_value at_most = argument_at(call, 2);
    if (!old || !with) {
        gi_jinja_run_fail(call->run, call->node, "'replace' takes two strings");
        return gi_jinja_undefined();
    }
    return gi_jinja_text_value(
        gi_jinja_replace(&call->run->pool, call->object.string, *old, *with,
                         at_most.kind == GI_JINJA_INT ? at_most.number : -1));
}

// In characters; -1: nowhere.
static struct gi_jinja_value method_find(const struct call *call)
{
    const struct gi_jinja_string *what = string_at(call, 0);
    const size_t found = what ? gi_jinja_locate(call->object.string, *what, 0) : SIZE_MAX;
    if (found == SIZE_MAX) {
        return gi_jinja_int(-1);
    }
    return gi_jinja_int(
        (int64_t)gi_jinja_count(gi_jinja_text_value(gi_jinja_part(call->object.string, 0, found))));
}

static struct gi_jinja_value method_count(const struct call *call)
{
    const struct gi_jinja_string *what = string_at(call, 0);
    int64_t n = 0;
    for (size_t at = 0;
         what && what->size && (at = gi_jinja_locate(call->object.string, *what, at)) != SIZE_MAX;
         at += what->size) {
        n++;
    }
    gi_jinja_spend(&call->run->pool, (size_t)n);
    return gi_jinja_int(n);
}

static struct gi_jinja_value method_is_digit(const struct call *call)
{
    bool is_digit = call->object.string.size > 0;
    for (size_t i = 0; i < call->object.string.size; i++) {
        is_digit =
            is_digit && call->object.string.data[i] >= '0' && call->object.string.data[i] <= '9';
    }
    return gi_jinja_bool(is_digit);
}

static struct gi_jinja_value method_join(const struct call *call)
{
    struct gi_jinja_pool *pool = &call->run->pool;
    const struct gi_jinja_list list =
        gi_jinja_elements(call->run, call->node, argument_at(call, 0));
    struct gi_jinja_text text = {0};
    for (size_t i = 0; i < list.count && !pool->has_failed; i++) {
        gi_jinja_append(pool, &text, i ? call->object.string : gi_jinja_string_of(""));
        gi_jinja_append(pool, &text, gi_jinja_to_string(pool, list.items[i]));
    }
    return gi_jinja_text_value(gi_jinja_text_string(&text));
}

//-- of mappings -----------------------------------------------------------------------------------

static struct gi_jinja_value method_get(const struct call *call)
{
    const struct gi_jinja_value found =
        gi_jinja_get(&call->run->pool, call->object.dict, argument_at(call, 0));
    const struct gi_jinja_value other = argument_at(call, 1);
    return found.kind != GI_JINJA_UNDEFINED   ? found
           : other.kind != GI_JINJA_UNDEFINED ? other
                                              : gi_jinja_none();
}

static struct gi_jinja_value method_keys(const struct call *call)
{
    struct gi_jinja_value list = gi_jinja_new_list(&call->run->pool);
    if (list.kind == GI_JINJA_LIST) {
        *list.list = is_named(call, "keys") ? call->object.dict->keys : call->object.dict->values;
        list.list->capacity = list.list->count; // it is grown by a copy
    }
    return list;
}

static struct gi_jinja_value method_items(const struct call *call)
{
    static const struct gi_jinja_arguments none;
    return gi_jinja_filter(call->run, call->node, gi_jinja_string_of("items"), call->object, &none);
}

struct gi_jinja_value gi_jinja_method(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                      struct gi_jinja_value object,
                                      const struct gi_jinja_arguments *arguments)
{
    static const struct {
        const char *name;
        enum gi_jinja_kind kind;
        struct gi_jinja_value (*apply)(const struct call *call);
    } methods[] = {
        {"strip",        GI_JINJA_STRING, method_strip     },
        {"lstrip",       GI_JINJA_STRING, method_strip     },
        {"rstrip",       GI_JINJA_STRING, method_strip     },
        {"split",        GI_JINJA_STRING, method_split     },
        {"splitlines",   GI_JINJA_STRING, method_splitlines},
        {"startswith",   GI_JINJA_STRING, method_affix     },
        {"endswith",     GI_JINJA_STRING, method_affix     },
        {"removeprefix", GI_JINJA_STRING, method_remove    },
        {"removesuffix", GI_JINJA_STRING, method_remove    },
        {"upper",        GI_JINJA_STRING, method_case      },
        {"lower",        GI_JINJA_STRING, method_case      },
        {"title",        GI_JINJA_STRING, method_case      },
        {"capitalize",   GI_JINJA_STRING, method_case      },
        {"replace",      GI_JINJA_STRING, method_replace   },
        {"find",         GI_JINJA_STRING, method_find      },
        {"count",        GI_JINJA_STRING, method_count     },
        {"isdigit",      GI_JINJA_STRING, method_is_digit  },
        {"join",         GI_JINJA_STRING, method_join      },
        {"get",          GI_JINJA_DICT,   method_get       },
        {"keys",         GI_JINJA_DICT,   method_keys      },
        {"values",       GI_JINJA_DICT,   method_keys      },
        {"items",        GI_JINJA_DICT,   method_items     },
    };
    const struct call call = {run, node, object, arguments};
    gi_jinja_charge(run, object);
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (methods[i].kind == object.kind && gi_jinja_is(node->name, methods[i].name)) {
            return methods[i].apply(&call);
        }
    }
    const struct gi_jinja_value macro = gi_jinja_item(run, object, gi_jinja_text_value(node->name));
    if (macro.kind == GI_JINJA_MACRO && macro.macro) {
        return gi_jinja_call_macro(run, macro.macro, arguments);
    }
    gi_jinja_run_fail(run, node, "%s has no method '%.*s'", gi_jinja_kind_name(object.kind),
                      (int)node->name.size, node->name.data);
    return gi_jinja_undefined();
}

//-- functions -------------------------------------------------------------------------------------

static struct gi_jinja_value call_raise(const struct call *call)
{
    const struct gi_jinja_string text = gi_jinja_to_string(&call->run->pool, argument_at(call, 0));
    gi_jinja_fail(&call->run->pool, GLINFER_STATUS_INVALID_ARGUMENT,
                  "the chat template refuses the conversation: %.*s",
                  text.size > 300 ? 300 : (int)text.size, text.data ? text.data : "");
    return gi_jinja_undefined();
}

static struct gi_jinja_value call_range(const struct call *call)
{
    enum { MAX_RANGE = 1 << 16 };
    const size_t n = call->arguments->values.count;
    struct gi_jinja_value list = gi_jinja_new_list(&call->run->pool);
    const struct gi_jinja_value first = argument_at(call, 0), second = argument_at(call, 1);
    const struct gi_jinja_value by = argument_at(call, 2);
    const int64_t begin = n > 1 ? first.number : 0, end = n > 1 ? second.number : first.number;
    const int64_t step = by.kind == GI_JINJA_INT ? by.number : 1;
    if (first.kind != GI_JINJA_INT || (n > 1 && second.kind != GI_JINJA_INT) || step == 0 ||
        begin < -MAX_RANGE || begin > MAX_RANGE || end < -MAX_RANGE || end > MAX_RANGE ||
        step < -MAX_RANGE || step > MAX_RANGE) {
        gi_jinja_run_fail(call->run, call->node, "a range is out of range");
    }
    for (int64_t i = begin; !call->run->pool.has_failed && (step > 0 ? i < end : i > end);
         i += step) {
        gi_jinja_push(&call->run->pool, list.list, gi_jinja_int(i));
    }
    return list;
}

static struct gi_jinja_value call_namespace(const struct call *call)
{
    struct gi_jinja_value value = gi_jinja_new_dict(&call->run->pool);
    const struct gi_jinja_dict *named = &call->arguments->named;
    if (value.kind == GI_JINJA_DICT) {
        value.dict->is_namespace = gi_jinja_is(call->node->a->name, "namespace");
    }
    for (size_t i = 0; i < named->keys.count && !call->run->pool.has_failed; i++) {
        gi_jinja_put(&call->run->pool, value.dict, named->keys.items[i], named->values.items[i]);
    }
    return value;
}

static struct gi_jinja_value call_today(const struct call *call)
{
    char format[128] = "", today[256];
    const struct gi_jinja_string *text = string_at(call, 0);
    if (!text || text->size >= sizeof(format)) {
        gi_jinja_run_fail(call->run, call->node, "a date has no format");
        return gi_jinja_undefined();
    }
    if (text->size) {
        memcpy(format, text->data, text->size);
    }
    gi_jinja_today(format, today, sizeof(today));
    return gi_jinja_text_value(gi_jinja_copy(&call->run->pool, gi_jinja_string_of(today)));
}

static const struct {
    const char *name;
    struct gi_jinja_value (*apply)(const struct call *call);
} functions[] = {
    {"raise_exception", call_raise    },
    {"range",           call_range    },
    {"namespace",       call_namespace},
    {"dict",            call_namespace},
    {"strftime_now",    call_today    },
};

bool gi_jinja_has_function(struct gi_jinja_string name)
{
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (gi_jinja_is(name, functions[i].name)) {
            return true;
        }
    }
    return false;
}

struct gi_jinja_value gi_jinja_function(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                        struct gi_jinja_string name,
                                        const struct gi_jinja_arguments *arguments)
{
    const struct call call = {run, node, gi_jinja_undefined(), arguments};
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (gi_jinja_is(name, functions[i].name)) {
            return functions[i].apply(&call);
        }
    }
    gi_jinja_run_fail(run, node, "the function '%.*s' is not known", (int)name.size, name.data);
    return gi_jinja_undefined();
}
