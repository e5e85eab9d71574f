// A template while it runs: what the files share that run statements, evaluate expressions and hold
// the filters, tests, methods and functions of the language. Private to this folder.
#pragma once

#include "jinja/jinja_node.h"

// The variables of a body; those of the bodies around it are seen through parent.
struct gi_jinja_scope {
    struct gi_jinja_dict variables;
    struct gi_jinja_scope *parent;
};

// The body that a macro is called with: it runs by caller(), in the scope of the call.
struct gi_jinja_caller {
    const struct gi_jinja_node *block;
    struct gi_jinja_scope *scope;
    const struct gi_jinja_caller *outer; // that of the macro with the call
};

struct gi_jinja_run {
    struct gi_jinja_pool pool;
    struct gi_jinja_scope *scope, *root;
    const struct gi_jinja_caller *caller; // of the macro that runs; NULL: none
    struct gi_jinja_text *out;
    uint32_t n_steps, depth;
};

// A call of a filter, test, method, function or macro, its arguments evaluated.
struct gi_jinja_call {
    struct gi_jinja_run *run;
    struct gi_jinja_pool *pool; // of the run
    struct gi_jinja_string name;
    struct gi_jinja_value value;    // operand of a filter, test or method
    struct gi_jinja_list arguments; // without a name
    struct gi_jinja_dict named;
    const struct gi_jinja_caller *caller; // of a macro; NULL: none
    int64_t option;                       // of the row that is applied
};

// How a name of the language is used, as bits.
enum gi_jinja_use {
    GI_JINJA_FILTER = 1,
    GI_JINJA_TEST = 2,
    GI_JINJA_FUNCTION = 4,
    GI_JINJA_OF_STRING = 8, // a method
    GI_JINJA_OF_LIST = 16,
    GI_JINJA_OF_DICT = 32,
};

// A row of the tables of filters, tests, methods and functions.
struct gi_jinja_builtin {
    const char *name; // NULL after the last row
    unsigned uses;
    struct gi_jinja_value (*apply)(const struct gi_jinja_call *call);
    int64_t option; // tells names with one function apart
};

//-- jinja_run.c -----------------------------------------------------------------------------------

// Return what a body, a macro with these arguments, or the body of the one that runs, writes.
struct gi_jinja_value gi_jinja_capture(struct gi_jinja_run *run, const struct gi_jinja_node *body);
struct gi_jinja_value gi_jinja_call_macro(const struct gi_jinja_call *call,
                                          const struct gi_jinja_node *macro);
struct gi_jinja_value gi_jinja_call_caller(const struct gi_jinja_call *call);

//-- jinja_evaluate.c ------------------------------------------------------------------------------

struct gi_jinja_value gi_jinja_evaluate(struct gi_jinja_run *run, const struct gi_jinja_node *node);
// Evaluates the call of a macro that is given a body; NULL: none.
struct gi_jinja_value gi_jinja_evaluate_call(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node,
                                             const struct gi_jinja_caller *caller);
// Returns argument i, or the one of that name; undefined if it is not given.
struct gi_jinja_value gi_jinja_argument(const struct gi_jinja_call *call, size_t i,
                                        const char *name);
// Returns argument i if it is a string, else NULL.
const struct gi_jinja_string *gi_jinja_string_argument(const struct gi_jinja_call *call, size_t i);
// Returns an argument that is a number from least to most, else fallback.
int64_t gi_jinja_int_argument(const struct gi_jinja_call *call, size_t i, const char *name,
                              int64_t least, int64_t most, int64_t fallback);
// Returns true if the language has a name for a use.
bool gi_jinja_has(struct gi_jinja_string name, enum gi_jinja_use use);
// Applies a filter, test, function or method. Refuses an unknown one.
struct gi_jinja_value gi_jinja_apply(const struct gi_jinja_call *call, enum gi_jinja_use use);

//-- jinja_filter.c, jinja_list_filter.c, jinja_method.c -------------------------------------------

extern const struct gi_jinja_builtin gi_jinja_filters[];
extern const struct gi_jinja_builtin gi_jinja_list_filters[];
extern const struct gi_jinja_builtin gi_jinja_methods[]; // and functions

// Returns today's local date as strftime has it, in English; nothing where it has no room.
struct gi_jinja_value gi_jinja_today(struct gi_jinja_pool *pool, const char *format);
// Return the strings of a list with a separator between them, or with attribute (NULL: none) those
// of its elements; and the parts of a string between separators (NULL: runs of white space), of
// which at_most are cut off, negative: all.
struct gi_jinja_value gi_jinja_join(struct gi_jinja_pool *pool, struct gi_jinja_value list,
                                    struct gi_jinja_string separator,
                                    const struct gi_jinja_value *attribute);
struct gi_jinja_value gi_jinja_split(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                     const struct gi_jinja_string *separator, int64_t at_most);
