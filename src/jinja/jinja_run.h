// A template while it is run. Private to this folder.
#ifndef GI_JINJA_JINJA_RUN_H
#define GI_JINJA_JINJA_RUN_H

#include "jinja/jinja_node.h"

// Variables of a body; those of the bodies around it are seen through parent.
struct gi_jinja_scope {
    struct gi_jinja_dict variables;
    struct gi_jinja_scope *parent;
};

struct gi_jinja_run {
    struct gi_jinja_pool pool;
    struct gi_jinja_scope *scope, *root;
    struct gi_jinja_text *out;
    uint32_t n_steps, depth;
};

// Arguments of a call, evaluated: values without a name, then those with one.
struct gi_jinja_arguments {
    struct gi_jinja_list values;
    struct gi_jinja_dict named;
};

// Fails with the line of a node.
void gi_jinja_run_fail(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));

// Counts what it costs to look at all of a value.
void gi_jinja_charge(struct gi_jinja_run *run, struct gi_jinja_value value);

struct gi_jinja_value gi_jinja_evaluate_node(struct gi_jinja_run *run,
                                             const struct gi_jinja_node *node);
void gi_jinja_read_arguments(struct gi_jinja_run *run, const struct gi_jinja_node *list,
                             struct gi_jinja_arguments *arguments);
// Argument i, or the one of that name; undefined where it is not given.
struct gi_jinja_value gi_jinja_argument(const struct gi_jinja_arguments *arguments, size_t i,
                                        const char *name);
// What a macro writes.
struct gi_jinja_value gi_jinja_call_macro(struct gi_jinja_run *run,
                                          const struct gi_jinja_node *macro,
                                          const struct gi_jinja_arguments *arguments);

// What there is to walk over in a value: elements, keys, characters.
struct gi_jinja_list gi_jinja_elements(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                       struct gi_jinja_value value);
// object[key]: an element, the value of a key, a character; undefined if there is none.
struct gi_jinja_value gi_jinja_item(struct gi_jinja_run *run, struct gi_jinja_value object,
                                    struct gi_jinja_value key);
size_t gi_jinja_count(struct gi_jinja_value value); // elements, keys, characters
// Byte at which character i of the string begins; its size past the end.
size_t gi_jinja_character(struct gi_jinja_string string, size_t i);

// Filters by name, also of a node's value; a test; a method of a value; a function.
struct gi_jinja_value gi_jinja_filter(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                      struct gi_jinja_string name, struct gi_jinja_value value,
                                      const struct gi_jinja_arguments *arguments);
bool gi_jinja_test(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                   struct gi_jinja_string name, struct gi_jinja_value value,
                   struct gi_jinja_value argument);
struct gi_jinja_value gi_jinja_method(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                      struct gi_jinja_value object,
                                      const struct gi_jinja_arguments *arguments);
// Whether there is a function of that name.
bool gi_jinja_has_function(struct gi_jinja_string name);
struct gi_jinja_value gi_jinja_function(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                                        struct gi_jinja_string name,
                                        const struct gi_jinja_arguments *arguments);

//-- strings (jinja_string.c) ----------------------------------------------------------------------

enum gi_jinja_sides {
    GI_JINJA_LEFT = 1,
    GI_JINJA_RIGHT = 2,
    GI_JINJA_BOTH = 3,
};

// Without the characters of `what` (NULL: white space) at its ends.
struct gi_jinja_string gi_jinja_strip(struct gi_jinja_string string,
                                      const struct gi_jinja_string *what,
                                      enum gi_jinja_sides sides);
struct gi_jinja_string gi_jinja_replace(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                        struct gi_jinja_string old, struct gi_jinja_string with,
                                        int64_t at_most);
// The list of its parts between separators (NULL: runs of white space); at_most cuts, negative: all.
struct gi_jinja_value gi_jinja_split(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                     const struct gi_jinja_string *separator, int64_t at_most);

enum gi_jinja_case {
    GI_JINJA_CASE_UPPER,
    GI_JINJA_CASE_LOWER,
    GI_JINJA_CASE_TITLE,      // the first letter of each word upper, the others lower
    GI_JINJA_CASE_CAPITALIZE, // the first letter of all
};
// Letters of ASCII only.
struct gi_jinja_string gi_jinja_change_case(struct gi_jinja_pool *pool,
                                            struct gi_jinja_string string, enum gi_jinja_case to);

#endif
