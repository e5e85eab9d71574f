// Bytes of a text, not ending in 0, and what the tokenizer asks of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct gi_text {
    const char *data;
    size_t size;
};

// Returns a string without its 0; no bytes for NULL.
static inline struct gi_text gi_text_of(const char *string)
{
    return (struct gi_text){string, string ? strlen(string) : 0};
}

// Returns the text from byte `offset` on, which it has.
static inline struct gi_text gi_text_from(struct gi_text text, size_t offset)
{
    return (struct gi_text){text.data + offset, text.size - offset};
}

static inline bool gi_text_begins(struct gi_text text, struct gi_text head)
{
    return text.size >= head.size && (!head.size || memcmp(text.data, head.data, head.size) == 0);
}

static inline bool gi_text_is(struct gi_text text, const char *string)
{
    return text.size == strlen(string) && gi_text_begins(text, gi_text_of(string));
}

// Returns the place of `what`, which is not empty, in text; NULL if it does not occur.
static inline const char *gi_text_find(struct gi_text text, const char *what)
{
    return text.size ? memmem(text.data, text.size, what, strlen(what)) : NULL;
}

// True for white space of ASCII.
static inline bool gi_is_white(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}
