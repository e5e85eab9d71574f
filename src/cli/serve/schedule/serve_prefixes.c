#include "cli/serve/schedule/serve_prefixes.h"

#include "cli/common/cli_io.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST = 32 }; // tokens that are worth storing

struct serve_prefix {
    struct serve_prefix *next;
    float scales[CLI_MAX_LORA]; // of the adapters
    size_t n_tokens;
    uint64_t last_used; // serial number
    size_t size;
    uint8_t data[]; // (size) the saved session
};

//-- the limit -------------------------------------------------------------------------------------

// Returns the bytes of memory that programs can have without swapping, or those that a container
// may have in all if they are fewer; 0: unknown.
static uint64_t read_available(void)
{
    char value[CLI_VALUE_SIZE];
    cli_read_value("/proc/meminfo", "MemAvailable", value);
    const uint64_t available = strtoull(value, NULL, 10) << 10;
    cli_read_value("/sys/fs/cgroup/memory.max", "", value);
    const uint64_t most = strtoull(value, NULL, 10); // 0 of "max"
    return most > 0 && most < available ? most : available;
}

uint64_t serve_prefixes_limit(uint64_t budget, uint64_t used)
{
    const uint64_t most = UINT64_C(8) << 30, share = read_available() / 8;
    const uint64_t rest = budget == 0 ? most : budget > used ? budget - used : 0;
    const uint64_t limit = share < most ? share : most;
    return limit < rest ? limit : rest;
}

//-- life ------------------------------------------------------------------------------------------

static uint64_t size_of(const struct serve_prefix *prefix)
{
    return sizeof(*prefix) + prefix->size;
}

static void drop(struct serve_prefixes *prefixes, struct serve_prefix **place)
{
    struct serve_prefix *prefix = *place;
    *place = prefix->next;
    prefixes->size -= size_of(prefix);
    free(prefix);
}

void serve_prefixes_finish(struct serve_prefixes *prefixes)
{
    while (prefixes->first) {
        drop(prefixes, &prefixes->first);
    }
}

static void use(struct serve_prefixes *prefixes, struct serve_prefix *prefix)
{
    prefix->last_used = ++prefixes->n_used;
}

static bool has_scales(const struct serve_prefixes *prefixes, const struct serve_prefix *prefix,
                       const float *scales)
{
    return memcmp(prefix->scales, scales, prefixes->n_adapters * sizeof(*scales)) == 0;
}

struct serve_found serve_prefixes_find(const struct serve_prefixes *prefixes, const int32_t *ids,
                                       size_t n, const float *scales)
{
    struct serve_found found = {0};
    for (struct serve_prefix *prefix = prefixes->first; prefix; prefix = prefix->next) {
        size_t n_ready = 0;
        const size_t n_match =
            has_scales(prefixes, prefix, scales)
                ? glinfer_saved_match(prefix->data, prefix->size, ids, n, &n_ready)
                : 0;
        found.n_match = n_match > found.n_match ? n_match : found.n_match;
        if (n_ready > found.n_ready) {
            found.n_ready = n_ready;
            found.prefix = prefix;
        }
    }
    return found;
}

//-- storing ---------------------------------------------------------------------------------------

// Drops the prefixes whose tokens are the first of ids[0..n). Returns false if one has them all.
static bool drop_shorter(struct serve_prefixes *prefixes, const int32_t *ids, size_t n,
                         const float *scales, const struct serve_prefix *kept)
{
    for (struct serve_prefix **place = &prefixes->first, *prefix; (prefix = *place);) {
        const size_t n_match = has_scales(prefixes, prefix, scales)
                                   ? glinfer_saved_match(prefix->data, prefix->size, ids, n, NULL)
                                   : 0;
        if (n_match == n) {
            use(prefixes, prefix);
            return false;
        }
        if (n_match == prefix->n_tokens && prefix != kept) {
            drop(prefixes, place);
        } else {
            place = &prefix->next;
        }
    }
    return true;
}

// Drops the least recently used prefixes until there is room for size bytes.
static bool make_room(struct serve_prefixes *prefixes, uint64_t size,
                      const struct serve_prefix *kept)
{
    if (size > prefixes->limit || (kept && size_of(kept) > prefixes->limit - size)) {
        return false;
    }
    while (prefixes->size > prefixes->limit - size) {
        struct serve_prefix **oldest = NULL;
        for (struct serve_prefix **place = &prefixes->first; *place; place = &(*place)->next) {
            if (*place != kept && (!oldest || (*place)->last_used < (*oldest)->last_used)) {
                oldest = place;
            }
        }
        if (!oldest) {
            return false;
        }
        drop(prefixes, oldest);
    }
    return true;
}

static struct serve_prefix *save(struct serve_prefixes *prefixes, struct glinfer_session *session,
                                 const struct serve_prefix *kept)
{
    size_t size = 0;
    if (!glinfer_session_save_memory(session, NULL, 0, &size, NULL) ||
        !make_room(prefixes, sizeof(struct serve_prefix) + size, kept)) {
        return NULL;
    }
    struct serve_prefix *prefix = malloc(sizeof(*prefix) + size);
    if (prefix && !glinfer_session_save_memory(session, prefix->data, size, &size, NULL)) {
        free(prefix);
        return NULL;
    }
    if (prefix) {
        prefix->size = size;
    }
    return prefix;
}

void serve_prefixes_store(struct serve_prefixes *prefixes, struct glinfer_session *session,
                          const struct serve_prefix *kept)
{
    const size_t n = glinfer_session_tokens(session, NULL, 0);
    float scales[CLI_MAX_LORA] = {0};
    if (prefixes->limit == 0 || n < FEWEST || glinfer_session_ready(session, n) < FEWEST) {
        return;
    }
    int32_t *ids = malloc(n * sizeof(*ids));
    glinfer_session_adapter_scales(session, scales, prefixes->n_adapters);
    if (ids) {
        glinfer_session_tokens(session, ids, n);
    }
    struct serve_prefix *prefix =
        ids && drop_shorter(prefixes, ids, n, scales, kept) ? save(prefixes, session, kept) : NULL;
    free(ids);
    if (prefix) {
        memcpy(prefix->scales, scales, sizeof(scales));
        prefix->n_tokens = n;
        prefix->next = prefixes->first;
        prefixes->first = prefix;
        prefixes->size += size_of(prefix);
        use(prefixes, prefix);
    }
}

bool serve_prefixes_load(struct serve_prefixes *prefixes, struct serve_prefix *prefix,
                         struct glinfer_session *session, size_t n, struct glinfer_error *err)
{
    use(prefixes, prefix);
    return glinfer_session_load_prefix(session, prefix->data, prefix->size, n, err);
}
