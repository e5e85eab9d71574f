// A file mapped for reading. Pages may be dropped behind a reader, so that a file that is read once
// does not stay resident.
#ifndef GI_BASE_FILE_MAP_H
#define GI_BASE_FILE_MAP_H

#include "base/error.h"

#include <stdint.h>

struct gi_file_map {
    const uint8_t *data; // size bytes; NULL for an empty file
    size_t size;
};

// Maps the regular file at path. Fails with NOT_FOUND, IO (the system's reason, a directory, a
// pipe). If the file is shortened while it is mapped the process ends with SIGBUS, so replace a
// model by renaming a new file over it.
bool gi_file_map_init(struct gi_file_map *map, const char *path, struct glinfer_error *err);
// Tells the system that [offset, offset + size) is not needed for now; it may be read again.
void gi_file_map_drop(const struct gi_file_map *map, size_t offset, size_t size);
// Accepts all-zero.
void gi_file_map_finish(struct gi_file_map *map);

#endif
