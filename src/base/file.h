// A file opened for reading at any place. Reading copies and never maps: a file that is shortened
// while it is read gives an error, where touching a mapping of it would end the process.
#pragma once

#include "base/error.h"

#include <stdint.h>

struct gi_file {
    uint64_t size; // bytes, when it was opened
    int handle;    // one more than the descriptor; 0: not open
};

// Opens the regular file at path. Fails with NOT_FOUND, IO (the system's reason, a directory, a
// pipe).
bool gi_file_open(struct gi_file *file, const char *path, struct glinfer_error *err);
// Opens the regular file of a descriptor, which stays the caller's with its position: the file has
// a copy of it. name is for messages. Fails with IO.
bool gi_file_share(struct gi_file *file, int fd, const char *name, struct glinfer_error *err);
// Reads [offset, offset + size), which lies within the size, into out; path is for messages. Fails
// with IO (the system's reason, or the file has become shorter).
bool gi_file_read(const struct gi_file *file, uint64_t offset, size_t size, void *out,
                  const char *path, struct glinfer_error *err);
// Accepts all-zero.
void gi_file_close(struct gi_file *file);
