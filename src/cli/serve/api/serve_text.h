// Checks of text that comes from outside.
#ifndef SERVE_TEXT_H
#define SERVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Returns why size bytes of JSON cannot be taken: no UTF-8, or a zero character, which texts here
// end with. NULL if they can.
const char *serve_find_fault(const char *text, size_t size);

#endif
