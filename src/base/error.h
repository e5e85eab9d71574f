// Errors of files, drivers and settings: a status and one sentence, filled once where the failure
// is found and passed on untouched. The type is the public one. Mistakes of our own are asserts.
#pragma once

#include "glinfer.h"

// Fills *err (which may be NULL) with a status and a sentence made as printf makes it; returns
// false, so that a caller can `return gi_error_set(...)`. A sentence that is too long is cut at a
// character; bytes that are not UTF-8 and control characters become '?'. The arguments may point
// into *err.
bool gi_error_set(struct glinfer_error *err, enum glinfer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Copies *from to *err, which may be NULL; returns false.
bool gi_error_pass(struct glinfer_error *err, const struct glinfer_error *from);
// Fills *err with NO_MEMORY, the number of bytes and their purpose. Inline, so that analyzers see
// that it is never true.
static inline bool gi_error_no_memory(struct glinfer_error *err, size_t size, const char *what)
{
    gi_error_set(err, GLINFER_STATUS_NO_MEMORY, "out of memory: no %zu bytes for %s", size, what);
    return false;
}
