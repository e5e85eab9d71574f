// Strings of a template: bytes, each with a mark that tells whether it is of a message's content.
// Private to this folder.
#pragma once

#include "jinja/jinja_pool.h"

struct gi_jinja_string {
    const char *data;
    const uint8_t *marks; // 1: of a message's content; NULL: no byte is
    size_t size;
};

// A string while it grows; zero-initialised.
struct gi_jinja_text {
    char *data;
    uint8_t *marks;
    size_t size, capacity;
};

static inline bool gi_jinja_is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct gi_jinja_string gi_jinja_string_of(const char *text);
// Returns bytes [begin, end) of a string.
struct gi_jinja_string gi_jinja_part(struct gi_jinja_string string, size_t begin, size_t end);
bool gi_jinja_is(struct gi_jinja_string string, const char *text);
bool gi_jinja_same(struct gi_jinja_string a, struct gi_jinja_string b);
// Returns a number below, equal to or above 0, as bytes and then sizes compare.
int gi_jinja_compare(struct gi_jinja_string a, struct gi_jinja_string b);
// Returns the byte from `from` on at which `what` begins; SIZE_MAX if it does not occur.
size_t gi_jinja_locate(struct gi_jinja_string string, struct gi_jinja_string what, size_t from);
// Returns the byte at which character i of the string begins; its size past the end.
size_t gi_jinja_character(struct gi_jinja_string string, size_t i);

void gi_jinja_append(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                     struct gi_jinja_string string);
void gi_jinja_append_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                          const char *string);
struct gi_jinja_string gi_jinja_text_string(const struct gi_jinja_text *text);
// Returns a copy that the pool owns.
struct gi_jinja_string gi_jinja_copy(struct gi_jinja_pool *pool, struct gi_jinja_string string);

enum gi_jinja_sides {
    GI_JINJA_LEFT = 1,
    GI_JINJA_RIGHT = 2,
    GI_JINJA_BOTH = 3,
};

// Returns the string without the characters of `what` (NULL: white space) at these sides.
struct gi_jinja_string gi_jinja_strip(struct gi_jinja_string string,
                                      const struct gi_jinja_string *what,
                                      enum gi_jinja_sides sides);
// Replaces the first at_most of `old`; negative: all.
struct gi_jinja_string gi_jinja_replace(struct gi_jinja_pool *pool, struct gi_jinja_string string,
                                        struct gi_jinja_string old, struct gi_jinja_string with,
                                        int64_t at_most);

enum gi_jinja_case {
    GI_JINJA_CASE_UPPER,
    GI_JINJA_CASE_LOWER,
    GI_JINJA_CASE_TITLE,      // the first letter of each word upper, the others lower
    GI_JINJA_CASE_CAPITALIZE, // the first letter of all
};
// Changes letters of ASCII only.
struct gi_jinja_string gi_jinja_change_case(struct gi_jinja_pool *pool,
                                            struct gi_jinja_string string, enum gi_jinja_case to);
