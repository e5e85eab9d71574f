// The prefix cache: contents of slots that other conversations replaced, in host memory, as
// glinfer_session_save_memory writes them. A prompt that begins as one of them does continues from
// there. The least recently used ones make room for others. Only the thread of the GPU uses it.
#pragma once

#include "cli/flags/cli_lora.h"
#include "glinfer.h"

struct serve_prefix;

struct serve_prefixes {
    struct serve_prefix *first; // owned
    uint32_t n_adapters;        // scales that each prefix has
    uint64_t size, limit;       // bytes of all prefixes, and the most; limit 0: none are kept
    uint64_t n_used;            // serial number of the last use
};

// The part of a prompt that sessions or prefixes have.
struct serve_found {
    struct serve_prefix *prefix; // the one with the most ready tokens; NULL: none
    size_t n_ready;              // tokens that need not be computed
    size_t n_match;              // most tokens in common with any prefix
};

// Returns the default limit in bytes: an eighth of the memory that is available, or of a
// container's limit, at most 8 GiB and the rest of a budget; budget 0: unlimited. used: bytes of
// the budget that the model takes.
uint64_t serve_prefixes_limit(uint64_t budget, uint64_t used);
void serve_prefixes_finish(struct serve_prefixes *prefixes);
// Finds the prefix of the most ready tokens among ids[0..n), computed with these scales.
struct serve_found serve_prefixes_find(const struct serve_prefixes *prefixes, const int32_t *ids,
                                       size_t n, const float *scales);
// Stores the contents of a session unless a prefix has them. Prefixes make room, except `kept`,
// which may be NULL. Stores nothing where there is no room or no memory.
void serve_prefixes_store(struct serve_prefixes *prefixes, struct glinfer_session *session,
                          const struct serve_prefix *kept);
// Replaces the contents of a session by the first n tokens of a prefix. Fails as
// glinfer_session_load_prefix does.
bool serve_prefixes_load(struct serve_prefixes *prefixes, struct serve_prefix *prefix,
                         struct glinfer_session *session, size_t n, struct glinfer_error *err);
