#include "engine/persistent_verdict.h"

#include "base/cache_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
             "persistent %s: %s, %" PRIu64 " ns, ordinary %" PRIu64 " ns, taken in %" PRIu64
             " ns\n",
             digits, words[verdict->kind], verdict->persistent_ns, verdict->ordinary_ns,
             verdict->take_ns);
}

static bool is_sound(const struct gi_verdict *verdict)
{
    const bool is_faster = verdict->persistent_ns < verdict->ordinary_ns;
    switch (verdict->kind) {
    case GI_VERDICT_FASTER:
        return is_faster;
    case GI_VERDICT_SLOWER:
        return !is_faster;
    default:
        return verdict->kind != GI_VERDICT_NONE;
    }
}

// What was read must be what would be written.
struct gi_verdict gi_verdict_parse(const char *line, const struct gi_hash *key)
{
    const struct gi_verdict none = {.kind = GI_VERDICT_NONE};
    struct gi_verdict verdict = none;
    char word[16], again[GI_VERDICT_LINE_SIZE];
    if (sscanf(line,
               "persistent %*32[0-9a-f]: %15[a-z], %" SCNu64 " ns, ordinary %" SCNu64
               " ns, taken in %" SCNu64,
               word, &verdict.persistent_ns, &verdict.ordinary_ns, &verdict.take_ns) != 4) {
        return none;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        verdict.kind = strcmp(word, words[i]) == 0 ? (enum gi_verdict_kind)i : verdict.kind;
    }
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
