// Values of a template. Private to this folder.
#pragma once

#include "jinja/jinja_string.h"

struct gi_jinja_node;

enum gi_jinja_kind {
    GI_JINJA_UNDEFINED,
    GI_JINJA_NONE,
    GI_JINJA_BOOL,
    GI_JINJA_INT,
    GI_JINJA_FLOAT, // of JSON, and integers beyond 64 bits: templates compare and write them
    GI_JINJA_STRING,
    GI_JINJA_LIST,
    GI_JINJA_DICT,
    GI_JINJA_MACRO,
};

struct gi_jinja_float {
    double value;
    struct gi_jinja_string digits; // as Python prints it
};

struct gi_jinja_value {
    enum gi_jinja_kind kind;
    union {
        int64_t number; // BOOL: 0 or 1
        struct gi_jinja_string string;
        const struct gi_jinja_float *real;
        struct gi_jinja_list *list;
        struct gi_jinja_dict *dict;
        const struct gi_jinja_node *macro; // NULL: a function of the language
    };
};

struct gi_jinja_list {
    struct gi_jinja_value *items;
    size_t count, capacity;
};

struct gi_jinja_dict {
    struct gi_jinja_list keys, values; // as many
    bool is_namespace;                 // its values may be set
};

static inline struct gi_jinja_value gi_jinja_undefined(void)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_UNDEFINED};
}

static inline struct gi_jinja_value gi_jinja_none(void)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_NONE};
}

static inline struct gi_jinja_value gi_jinja_bool(bool truth)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_BOOL, .number = truth};
}

static inline struct gi_jinja_value gi_jinja_int(int64_t number)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_INT, .number = number};
}

static inline struct gi_jinja_value gi_jinja_value_of(struct gi_jinja_string string)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_STRING, .string = string};
}

// Returns a string that is not copied.
static inline struct gi_jinja_value gi_jinja_constant(const char *text)
{
    return gi_jinja_value_of(gi_jinja_string_of(text));
}

static inline struct gi_jinja_value gi_jinja_written(const struct gi_jinja_text *text)
{
    return gi_jinja_value_of(gi_jinja_text_string(text));
}

// True for integers and truth values.
static inline bool gi_jinja_is_number(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_BOOL || value.kind == GI_JINJA_INT;
}

// Returns the value of a number.
static inline double gi_jinja_real(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_FLOAT ? value.real->value : (double)value.number;
}

// Return empty ones.
struct gi_jinja_value gi_jinja_new_list(struct gi_jinja_pool *pool);
struct gi_jinja_value gi_jinja_new_dict(struct gi_jinja_pool *pool);
void gi_jinja_push(struct gi_jinja_pool *pool, struct gi_jinja_list *list,
                   struct gi_jinja_value value);

// Returns a pointer to the value of a key; NULL if the key is missing.
struct gi_jinja_value *gi_jinja_find(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                     struct gi_jinja_value key);
// Returns the value of a key; undefined if the key is missing.
struct gi_jinja_value gi_jinja_get(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                   struct gi_jinja_value key);
// Adds the value of a key that the mapping does not have.
void gi_jinja_add(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value);
void gi_jinja_set(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value);

bool gi_jinja_is_true(struct gi_jinja_value value);
// Counts what is compared in the pool; false once it has failed.
bool gi_jinja_is_equal(struct gi_jinja_pool *pool, struct gi_jinja_value a,
                       struct gi_jinja_value b);
// Returns a number below, equal to or above 0, as numbers or strings compare; without by_case
// letters of ASCII count as lower ones. Fails for what has no order.
int gi_jinja_order(struct gi_jinja_pool *pool, struct gi_jinja_value a, struct gi_jinja_value b,
                   bool by_case);
// Returns "a string" and the like, for messages.
const char *gi_jinja_kind_name(enum gi_jinja_kind kind);

// Counts what it costs to look at all of a value.
void gi_jinja_charge(struct gi_jinja_pool *pool, struct gi_jinja_value value);
// Returns the number of elements, keys or characters; 0 for what has none.
size_t gi_jinja_count(struct gi_jinja_value value);
// Returns the items of a loop: elements, keys, characters. Fails for values without items.
struct gi_jinja_list gi_jinja_elements(struct gi_jinja_pool *pool, struct gi_jinja_value value);
// Returns object[key]: an element, the value of a key, a character; undefined if it is missing.
struct gi_jinja_value gi_jinja_item(struct gi_jinja_pool *pool, struct gi_jinja_value object,
                                    struct gi_jinja_value key);
// Returns the value at a path such as function.name, or at a key that is not a string.
struct gi_jinja_value gi_jinja_attribute(struct gi_jinja_pool *pool, struct gi_jinja_value object,
                                         struct gi_jinja_value path);
// Returns true if `what` is an element, key or part of `where`.
bool gi_jinja_contains(struct gi_jinja_pool *pool, struct gi_jinja_value where,
                       struct gi_jinja_value what);
