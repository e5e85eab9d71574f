// A file that takes the place of another as a whole: its bytes go to a file beside it, which is
// renamed once it is whole and on the disk. A reader, also behind a crash, sees the old file or the
// new one. Only its owner may read the new file.
#ifndef GI_BASE_NEW_FILE_H
#define GI_BASE_NEW_FILE_H

#include "base/error.h"

#include <stdint.h>

struct gi_new_file {
    const char *path; // borrowed
    char *part;       // the file beside it, "path.part-XXXXXX"; NULL: none is open
    int handle;       // of that
};

// Creates the file beside path. Fails with IO (the system's reason; what is at path is no regular
// file), NO_MEMORY.
bool gi_new_file_open(struct gi_new_file *file, const char *path, struct glinfer_error *err);
// Appends size bytes. Fails with IO.
bool gi_new_file_write(struct gi_new_file *file, const void *data, size_t size,
                       struct glinfer_error *err);
// Waits until the bytes are on the disk, renames the file and closes it. Fails with IO.
bool gi_new_file_commit(struct gi_new_file *file, struct glinfer_error *err);
// Removes what was not committed. Accepts all-zero, and what was committed.
void gi_new_file_close(struct gi_new_file *file);

#endif
