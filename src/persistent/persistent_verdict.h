// Keeps on disk what trying a persistent program out has shown (persistent/persistent_check.h), so
// that the next start neither tries nor, where it was refused, compiles it again: a file of one
// line in the cache's folder "persistent", named by the program's key. It only ever saves time: a
// missing or damaged file, or one of another program, yields no verdict. Knows no GL.
#ifndef GI_PERSISTENT_VERDICT_H
#define GI_PERSISTENT_VERDICT_H

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

// The verdict on the program of this key in a folder; folder may be NULL: nothing is kept.
struct gi_verdict gi_verdict_load(const char *folder, const struct gi_hash *key);
// Stores the verdict. Returns false with errno on failure, which callers may ignore.
bool gi_verdict_store(const char *folder, const struct gi_hash *key,
                      const struct gi_verdict *verdict);

// Takes it back, so that it is found anew.
void gi_verdict_forget(const char *folder, const struct gi_hash *key);

// The lock of who compiles the program: a file beside the verdict, a byte long for each time that
// compiling was begun and led to none.
struct gi_verdict_lock {
    int fd;
    uint32_t n_begun;
};
// Takes it. False with errno: EWOULDBLOCK if somebody else compiles the program.
bool gi_verdict_lock(const char *folder, const struct gi_hash *key, struct gi_verdict_lock *lock);
// Notes that compiling begins. False with errno.
bool gi_verdict_begin(struct gi_verdict_lock *lock);
// Gives it back. A driver may refuse what it takes the next time, when there is more memory: a
// refusal is kept as the verdict when it is the second.
void gi_verdict_unlock(const char *folder, const struct gi_hash *key,
                       const struct gi_verdict_lock *lock, bool is_refused);
// Counts a refusal that came without the lock; folder may be NULL. Nothing where somebody else
// compiles the program.
void gi_verdict_refuse(const char *folder, const struct gi_hash *key);

// The file's line, and what such a line says; NONE unless it is one, of this key and whole.
#define GI_VERDICT_LINE_SIZE 192
void gi_verdict_format(const struct gi_verdict *verdict, const struct gi_hash *key,
                       char line[GI_VERDICT_LINE_SIZE]);
struct gi_verdict gi_verdict_parse(const char *line, const struct gi_hash *key);

#endif
