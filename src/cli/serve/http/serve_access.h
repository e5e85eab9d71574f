// Checks keys, and in browsers the origin of pages.
#pragma once

#include "cli/common/cli_args.h"
#include "cli/common/cli_memory.h"

#include <stdbool.h>

enum { SERVE_MAX_KEYS = 64 };

struct serve_access {
    const char *keys[SERVE_MAX_KEYS]; // n_keys; 0: no key is needed
    size_t n_keys;
    struct cli_bytes listed, read; // texts of the keys of the two functions below
    // Allowed origins of other pages, which commas may separate; "*": any, "localhost": those of
    // this machine. Empty: with keys any, else none.
    struct cli_texts origins;
};

// Adds keys that are separated by commas. Call it once.
bool serve_access_add_keys(struct serve_access *access, const char *keys);
// Adds the keys of a file, one a line. Call it once. Prints an error and returns false if that
// fails.
bool serve_access_read_keys(struct serve_access *access, const char *path);
void serve_access_finish(struct serve_access *access);

// Returns true if a and b are equal. Its time depends only on the length of b.
bool serve_is_same_key(const char *a, const char *b);
// Returns true if no key is needed or one of these headers, Authorization and X-Api-Key, has a
// valid one. They may be NULL.
bool serve_access_has_key(const struct serve_access *access, const char *authorization,
                          const char *api_key);
// Returns true if pages of an origin, which may be NULL, may call. With keys any page may that has
// one: there are no cookies that it could use.
bool serve_access_allows(const struct serve_access *access, const char *origin);
// Returns false if a request with these headers, which may be NULL, comes from a foreign page.
bool serve_access_trusts(const struct serve_access *access, const char *origin, const char *host);
// Returns true if the host of a request without an origin is a name of this server. A foreign page
// may let a name of its own lead here. site: Sec-Fetch-Site; NULL: not sent.
bool serve_access_knows(const struct serve_access *access, const char *host, const char *site);
