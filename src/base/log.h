// Log lines of the library: to the caller's callback, with a level, never to a stream. A NULL log
// and a log with a NULL function are valid and silent.
#pragma once

#include "glinfer.h"

struct gi_log {
    glinfer_log_fn fn;
    void *user;
};

// Makes a text as printf does, of 2047 bytes at most, and hands it over line by line; empty lines
// are left out. Bytes that are not UTF-8 and control characters become '?'.
void gi_log_write(const struct gi_log *log, enum glinfer_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
