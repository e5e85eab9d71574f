// Files that are part of the command: the page at /.
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include <stddef.h>

struct serve_page {
    const char *path; // "/"
    const char *type; // of HTTP
    const char *data;
    size_t size; // bytes
};

// Returns the file of a path, NULL if there is none.
const struct serve_page *serve_find_page(const char *path);

#endif
