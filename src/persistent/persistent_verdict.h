// Stores the result of testing a persistent program (persistent/persistent_check.h) on disk, so
// that the next start neither tests it nor compiles a refused one again: a file of one line in the
// cache's folder "persistent", named by the program's key. The file only saves time: a missing or
// damaged file, or one of another program, yields no verdict. Knows no GL.
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gi_verdict_kind {
    GI_VERDICT_NONE,
    GI_VERDICT_FASTER,
    GI_VERDICT_SLOWER,
    GI_VERDICT_WRONG,   // other tokens than the multi-dispatch executor
    GI_VERDICT_REFUSED, // the driver does not compile it
};

struct gi_verdict {
    enum gi_verdict_kind kind;
    uint64_t multi_ns, persistent_ns; // of a step, where they were compared; else 0
};

// Returns the verdict on the program of this key; GI_VERDICT_NONE if folder is NULL.
struct gi_verdict gi_verdict_load(const char *folder, const struct gi_hash *key);
// Stores the verdict. Returns false with errno on failure, which callers may ignore.
bool gi_verdict_store(const char *folder, const struct gi_hash *key,
                      const struct gi_verdict *verdict);

// Deletes the verdict, so that the program is tested again.
void gi_verdict_forget(const char *folder, const struct gi_hash *key);

// The lock of the process that compiles the program: a file next to the verdict, with a byte for
// each compilation that began without leading to a verdict.
struct gi_verdict_lock {
    int fd;
    uint32_t n_begun;
};
// Takes the lock. Returns false with errno; EWOULDBLOCK if another process compiles the program.
bool gi_verdict_lock(const char *folder, const struct gi_hash *key, struct gi_verdict_lock *lock);
// Notes that compiling begins. False with errno.
bool gi_verdict_begin(struct gi_verdict_lock *lock);
// Releases the lock. A driver may refuse a program once for lack of memory, so only the second
// refusal becomes the verdict.
void gi_verdict_unlock(const char *folder, const struct gi_hash *key,
                       const struct gi_verdict_lock *lock, bool is_refused);
// Counts a refusal without the lock; folder may be NULL. Does nothing if another process compiles
// the program.
void gi_verdict_refuse(const char *folder, const struct gi_hash *key);

// Writes the line of the file; reads it. GI_VERDICT_NONE unless it is complete and of this key.
#define GI_VERDICT_LINE_SIZE 192
void gi_verdict_format(const struct gi_verdict *verdict, const struct gi_hash *key,
                       char line[GI_VERDICT_LINE_SIZE]);
struct gi_verdict gi_verdict_parse(const char *line, const struct gi_hash *key);
