// Reads the entries of a body of the type multipart/form-data, as forms and uploads send it.
// Nothing is copied but names, so that an upload takes its size once. libmicrohttpd's parser is not
// used: it needs a connection, and hands out copies in pieces.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVE_MAX_ENTRIES = 64,
    SERVE_MAX_ENTRY_HEAD = 8 << 10, // bytes of the headers of an entry
};

struct serve_entry {
    char name[64], filename[256]; // "": not a file; longer ones are cut
    const char *data;             // borrowed from the body
    size_t size;
};

struct serve_form {
    struct serve_entry entries[SERVE_MAX_ENTRIES];
    size_t n_entry;
};

// Returns true for the type of a body that serve_form_read reads. NULL: no type.
bool serve_form_is(const char *content_type);
// Reads a body by its type, which names the boundary between entries. Returns false with the reason
// in why.
bool serve_form_read(struct serve_form *form, const char *content_type, const char *body,
                     size_t size, char *why, size_t why_size);
// Returns the first entry of a name; NULL without one.
const struct serve_entry *serve_form_find(const struct serve_form *form, const char *name);
