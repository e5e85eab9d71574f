#include "persistent/persistent_verdict.h"

#include "base/cache_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {
    [GI_VERDICT_NONE] = "none",   [GI_VERDICT_FASTER] = "faster",   [GI_VERDICT_SLOWER] = "slower",
    [GI_VERDICT_WRONG] = "wrong", [GI_VERDICT_REFUSED] = "refused",
};

void gi_verdict_format(const struct gi_verdict *verdict, const struct gi_hash *key,
                       char line[GI_VERDICT_LINE_SIZE])
{
    char digits[33];
    gi_hash_text(key, digits);
    snprintf(line, GI_VERDICT_LINE_SIZE,
             "persistent %s: %s, %" PRIu64 " ns, multi-dispatch %" PRIu64 " ns\n", digits,
             words[verdict->kind], verdict->persistent_ns, verdict->multi_ns);
}

static bool is_sound(const struct gi_verdict *verdict)
{
    const bool is_faster = verdict->persistent_ns < verdict->multi_ns;
    switch (verdict->kind) {
    case GI_VERDICT_FASTER:
        return is_faster;
    case GI_VERDICT_SLOWER:
        return !is_faster;
    default:
        return verdict->kind != GI_VERDICT_NONE;
    }
}

// Reads the number that follows `text` at *at and moves *at past it; 0 if there is none.
static uint64_t take_number(const char **at, const char *text)
{
    const size_t size = strlen(text);
    char *end = NULL;
    if (strncmp(*at, text, size) != 0) {
        return 0;
    }
    const uint64_t number = strtoull(*at + size, &end, 10);
    *at = end;
    return number;
}

static enum gi_verdict_kind find_kind(const char *word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t size = strlen(words[i]);
        if (strncmp(word, words[i], size) == 0 && word[size] == ',') {
            return (enum gi_verdict_kind)i;
        }
    }
    return GI_VERDICT_NONE;
}

// Takes a line only if it is what would be written of its verdict.
struct gi_verdict gi_verdict_parse(const char *line, const struct gi_hash *key)
{
    const struct gi_verdict none = {.kind = GI_VERDICT_NONE};
    const char *colon = strchr(line, ':'), *at = colon ? strchr(colon, ',') : NULL;
    char again[GI_VERDICT_LINE_SIZE];
    if (!at || colon[1] != ' ') {
        return none;
    }
    struct gi_verdict verdict = {.kind = find_kind(colon + 2)};
    verdict.persistent_ns = take_number(&at, ", ");
    verdict.multi_ns = take_number(&at, " ns, multi-dispatch ");
    gi_verdict_format(&verdict, key, again);
    return strcmp(again, line) == 0 && is_sound(&verdict) ? verdict : none;
}

struct gi_verdict gi_verdict_load(const char *folder, const struct gi_hash *key)
{
    const struct gi_verdict none = {.kind = GI_VERDICT_NONE};
    char name[33];
    size_t size = 0;
    gi_hash_text(key, name);
    char *line = folder ? gi_cache_read(folder, name, GI_VERDICT_LINE_SIZE, &size) : NULL;
    const struct gi_verdict verdict = line ? gi_verdict_parse(line, key) : none;
    free(line);
    return verdict;
}

bool gi_verdict_store(const char *folder, const struct gi_hash *key,
                      const struct gi_verdict *verdict)
{
    char name[33], line[GI_VERDICT_LINE_SIZE];
    gi_hash_text(key, name);
    gi_verdict_format(verdict, key, line);
    const struct gi_cache_piece piece = {line, strlen(line)};
    return folder && gi_cache_write(folder, name, &piece, 1);
}

void gi_verdict_forget(const char *folder, const struct gi_hash *key)
{
    char name[33];
    gi_hash_text(key, name);
    if (folder) {
        gi_cache_remove(folder, name);
    }
}

//-- compiling -------------------------------------------------------------------------------------

enum { MAX_REFUSED = 2, LOCK_NAME_SIZE = 40 };

static void name_lock(const struct gi_hash *key, char name[LOCK_NAME_SIZE])
{
    char digits[33];
    gi_hash_text(key, digits);
    snprintf(name, LOCK_NAME_SIZE, ".%s", digits);
}

bool gi_verdict_lock(const char *folder, const struct gi_hash *key, struct gi_verdict_lock *lock)
{
    char name[LOCK_NAME_SIZE];
    name_lock(key, name);
    lock->fd = gi_cache_lock(folder, name);
    const off_t size = lock->fd >= 0 ? lseek(lock->fd, 0, SEEK_END) : 0;
    lock->n_begun = size > 0 ? (uint32_t)size : 0;
    return lock->fd >= 0;
}

bool gi_verdict_begin(struct gi_verdict_lock *lock)
{
    const bool ok = write(lock->fd, "+", 1) == 1;
    lock->n_begun += ok;
    return ok;
}

void gi_verdict_unlock(const char *folder, const struct gi_hash *key,
                       const struct gi_verdict_lock *lock, bool is_refused)
{
    const struct gi_verdict refused = {.kind = GI_VERDICT_REFUSED};
    char name[LOCK_NAME_SIZE];
    name_lock(key, name);
    if (is_refused && lock->n_begun >= MAX_REFUSED) {
        gi_verdict_store(folder, key, &refused);
    }
    if (!is_refused || lock->n_begun >= MAX_REFUSED) {
        gi_cache_remove(folder, name);
    }
    close(lock->fd);
}

void gi_verdict_refuse(const char *folder, const struct gi_hash *key)
{
    struct gi_verdict_lock lock;
    if (folder && gi_verdict_lock(folder, key, &lock)) {
        gi_verdict_begin(&lock);
        gi_verdict_unlock(folder, key, &lock, true);
    }
}
