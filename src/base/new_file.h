// A file that replaces another one atomically: its bytes go to a file in the same folder, which is
// renamed when it is complete and on the disk. A reader sees the old file or the new one, also
// after a crash. Only its owner may read the new file.
#pragma once

#include "base/error.h"

#include <stdint.h>

struct gi_new_file {
    const char *path; // borrowed
    char *part;       // the file beside it, "path.part-XXXXXX"; NULL: none is open
    int handle;       // of that
};

// Creates the temporary file next to path. Fails with IO (the system's reason; path exists and is
// not a regular file), NO_MEMORY.
bool gi_new_file_open(struct gi_new_file *file, const char *path, struct glinfer_error *err);
// Appends size bytes. Fails with IO.
bool gi_new_file_write(struct gi_new_file *file, const void *data, size_t size,
                       struct glinfer_error *err);
// Waits until the bytes are on the disk, renames the file and closes it. Fails with IO.
bool gi_new_file_commit(struct gi_new_file *file, struct glinfer_error *err);
// Removes what was not committed. Accepts all-zero, and what was committed.
void gi_new_file_close(struct gi_new_file *file);
