// Decides who may call: keys, and pages of other origins in a browser.
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include "cli/common/cli_args.h"
#include "cli/common/cli_memory.h"

#include <stdbool.h>

enum { SERVE_MAX_KEYS = 64 };

struct serve_access {
    const char *keys[SERVE_MAX_KEYS]; // n_keys; none: all may call
    size_t n_keys;
    struct cli_bytes listed, read; // hold the keys of the two functions below, called once each
    struct cli_texts origins;      // that other pages may have; "*": any
};

// Adds keys, with commas between them.
bool serve_access_add_keys(struct serve_access *access, const char *keys);
// Adds the keys of a file, a line each. Prints what failed; false then.
bool serve_access_read_keys(struct serve_access *access, const char *path);
void serve_access_finish(struct serve_access *access);

// True if a and b are the same. Takes as long whatever they hold; only the length of b shows.
bool serve_is_same_key(const char *a, const char *b);
// True if no key is needed, or one of these values of the headers Authorization and X-Api-Key is
// one; they may be NULL.
bool serve_access_has_key(const struct serve_access *access, const char *authorization,
                          const char *api_key);
// Returns what Access-Control-Allow-Origin says to a page of an origin; NULL: nothing.
const char *serve_access_allowed_origin(const struct serve_access *access, const char *origin);
// True if a request with these headers, which may be NULL, is not the doing of a foreign page.
bool serve_access_trusts(const struct serve_access *access, const char *origin, const char *host);
// True if a request without an origin, which a page's reads are, asks for a server that is this
// one: a foreign page can have a name of its own lead here. site is Sec-Fetch-Site; NULL: not sent.
bool serve_access_knows(const struct serve_access *access, const char *host, const char *site);

#endif
