// The cache folder on disk and its files, which are written whole or not at all. Everything in it
// can be computed again: a failure costs time, never a result.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns the path of a part of the cache, owned by the caller: dir/part; for a NULL dir
// $XDG_CACHE_HOME/glinfer/part or ~/.cache/glinfer/part. NULL for "", where there is no home, and
// without memory. Creates nothing.
char *gi_cache_folder(const char *dir, const char *part);

struct gi_cache_piece {
    const void *data;
    size_t size;
};
// Writes the pieces one after the other to a new file and renames it to folder/name, so that a
// reader sees the old file, the new one, or none. Creates the folder and those above it. False with
// errno.
bool gi_cache_write(const char *folder, const char *name, const struct gi_cache_piece *pieces,
                    size_t n_pieces);
// Creates the folder and those above it. False with errno, also if no files may be written there.
bool gi_cache_check(const char *folder);
// Reads the file folder/name, or the path `name` if folder is NULL. Returns its bytes, followed by
// a 0 that *size does not count, owned by the caller. Returns NULL with errno if the file cannot be
// read, is larger than max_size (EFBIG) or is not a regular file (EINVAL).
char *gi_cache_read(const char *folder, const char *name, size_t max_size, size_t *size);
// Takes the lock folder/name, a file that its holder may remove. Returns a descriptor: closing it,
// or the end of the process, releases the lock. -1 with errno: EWOULDBLOCK if another process holds
// it.
int gi_cache_lock(const char *folder, const char *name);
// Removes folder/name; true too where there is none. False with errno.
bool gi_cache_remove(const char *folder, const char *name);
// Returns true if others than this user and root may have written there.
bool gi_cache_is_foreign(const char *folder);
// Removes what writers that were killed over an hour ago left of a file, and, while the files of a
// folder have more than max_size bytes together, those that were used least recently. Returns how
// many of these.
size_t gi_cache_sweep(const char *folder, uint64_t max_size);
// Removes all files of a folder but locks that are held: files whose names begin with a dot. False
// with errno.
bool gi_cache_clear(const char *folder);
