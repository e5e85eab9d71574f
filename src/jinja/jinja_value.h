// Values of a template and the memory they live in. All of a template's nodes, or of a run's values,
// come from one pool, which is freed at once; nothing is freed before. The first failure is kept in
// the pool: from there on operations do nothing and return undefined, and loops look at has_failed.
// Private to this folder.
#ifndef GI_JINJA_JINJA_VALUE_H
#define GI_JINJA_JINJA_VALUE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gi_jinja_block;
struct gi_jinja_node;

struct gi_jinja_pool {
    struct gi_jinja_block *blocks;
    size_t used, limit; // bytes
    uint64_t work;      // what gi_jinja_spend counted
    bool has_failed;
    struct glinfer_error *err; // may be NULL
};

void gi_jinja_pool_init(struct gi_jinja_pool *pool, size_t limit, struct glinfer_error *err);
void gi_jinja_pool_finish(struct gi_jinja_pool *pool);
// Zeros; NULL after a failure.
void *gi_jinja_allocate(struct gi_jinja_pool *pool, size_t size);
// Keeps the first failure.
void gi_jinja_fail(struct gi_jinja_pool *pool, enum glinfer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Counts what takes time without taking memory: elements looked at, and bytes 16 at a time. Fails where a
// template does too much of it.
void gi_jinja_spend(struct gi_jinja_pool *pool, size_t work);

//-- strings ---------------------------------------------------------------------------------------

// Bytes, each with a mark: 1 if it is of a message's content. No marks: none is.
struct gi_jinja_string {
    const char *data;
    const uint8_t *marks;
    size_t size;
};

// A string while it grows; zero-initialised.
struct gi_jinja_text {
    char *data;
    uint8_t *marks;
    size_t size, capacity;
};

struct gi_jinja_string gi_jinja_string_of(const char *text);
// Bytes [begin, end) of a string.
struct gi_jinja_string gi_jinja_part(struct gi_jinja_string string, size_t begin, size_t end);
bool gi_jinja_is(struct gi_jinja_string string, const char *text);
bool gi_jinja_same(struct gi_jinja_string a, struct gi_jinja_string b);
// Where what begins in the string, from byte `from` on; SIZE_MAX: nowhere.
size_t gi_jinja_locate(struct gi_jinja_string string, struct gi_jinja_string what, size_t from);
void gi_jinja_append(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                     struct gi_jinja_string string);
void gi_jinja_append_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                          const char *string);
struct gi_jinja_string gi_jinja_text_string(const struct gi_jinja_text *text);
// A copy that the pool owns.
struct gi_jinja_string gi_jinja_copy(struct gi_jinja_pool *pool, struct gi_jinja_string string);

//-- values ----------------------------------------------------------------------------------------

enum gi_jinja_kind {
    GI_JINJA_UNDEFINED,
    GI_JINJA_NONE,
    GI_JINJA_BOOL,
    GI_JINJA_INT,
    GI_JINJA_STRING,
    GI_JINJA_LIST,
    GI_JINJA_DICT,
    GI_JINJA_MACRO,
};

struct gi_jinja_value {
    enum gi_jinja_kind kind;
    union {
        int64_t number; // BOOL: 0 or 1
        struct gi_jinja_string string;
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

struct gi_jinja_value gi_jinja_undefined(void);
struct gi_jinja_value gi_jinja_none(void);
struct gi_jinja_value gi_jinja_bool(bool truth);
struct gi_jinja_value gi_jinja_int(int64_t number);
struct gi_jinja_value gi_jinja_text_value(struct gi_jinja_string string);
struct gi_jinja_value gi_jinja_constant(const char *text); // not copied
// Empty ones.
struct gi_jinja_value gi_jinja_new_list(struct gi_jinja_pool *pool);
struct gi_jinja_value gi_jinja_new_dict(struct gi_jinja_pool *pool);
void gi_jinja_push(struct gi_jinja_pool *pool, struct gi_jinja_list *list,
                   struct gi_jinja_value value);

// The value of a key; undefined if there is none.
struct gi_jinja_value gi_jinja_get(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                   struct gi_jinja_value key);
void gi_jinja_put(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value);
void gi_jinja_put_name(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, const char *name,
                       struct gi_jinja_value value);

bool gi_jinja_is_true(struct gi_jinja_value value);
// The pool counts what is compared; false once it has failed.
bool gi_jinja_is_equal(struct gi_jinja_pool *pool, struct gi_jinja_value a,
                       struct gi_jinja_value b);
// "a string": for messages.
const char *gi_jinja_kind_name(enum gi_jinja_kind kind);
// What a print of the value writes.
struct gi_jinja_string gi_jinja_to_string(struct gi_jinja_pool *pool, struct gi_jinja_value value);
// The value as JSON; indent: spaces a level, or -1 for one line.
struct gi_jinja_string gi_jinja_to_json(struct gi_jinja_pool *pool, struct gi_jinja_value value,
                                        int indent);

#endif
