#include "cli/serve/http/serve_access.h"

#include "cli/common/cli_io.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

// Splits a text into keys and adds them.
static bool add_all(struct serve_access *access, char *text, const char *separators)
{
    const size_t n_before = access->n_keys;
    char *rest = NULL;
    for (char *key = strtok_r(text, separators, &rest); key;
         key = strtok_r(NULL, separators, &rest)) {
        if (access->n_keys == SERVE_MAX_KEYS) {
            return cli_fail(CLI_EXIT_USAGE, "invalid keys: more than %d", SERVE_MAX_KEYS);
        }
        access->keys[access->n_keys++] = key;
    }
    return access->n_keys > n_before || cli_fail(CLI_EXIT_USAGE, "invalid keys: empty list");
}

bool serve_access_add_keys(struct serve_access *access, const char *keys)
{
    cli_bytes_add(&access->listed, keys);
    return add_all(access, access->listed.data, ",");
}

bool serve_access_read_keys(struct serve_access *access, const char *path)
{
    if (!cli_read_all(path, &access->read)) {
        return false;
    }
    cli_bytes_append(&access->read, "", 0);
    return add_all(access, access->read.data, "\r\n");
}

void serve_access_finish(struct serve_access *access)
{
    cli_bytes_finish(&access->listed);
    cli_bytes_finish(&access->read);
    access->n_keys = 0;
}

bool serve_is_same_key(const char *a, const char *b)
{
    const size_t size_a = strlen(a), size_b = strlen(b);
    volatile unsigned char difference = size_a != size_b;
    for (size_t i = 0; i < size_b; i++) {
        difference |= (unsigned char)(a[size_a > 0 ? i % size_a : 0] ^ b[i]);
    }
    return difference == 0;
}

bool serve_access_has_key(const struct serve_access *access, const char *authorization,
                          const char *api_key)
{
    static const char bearer[] = "Bearer ";
    const size_t n = sizeof(bearer) - 1;
    const char *given =
        authorization && strncasecmp(authorization, bearer, n) == 0 ? authorization + n : api_key;
    bool has_any = access->n_keys == 0;
    for (size_t i = 0; given && i < access->n_keys; i++) {
        has_any |= serve_is_same_key(access->keys[i], given);
    }
    return has_any;
}

// Returns true if the rest of an origin is the end of a host: nothing, or a port.
static bool is_end_of_host(const char *rest)
{
    return !*rest || (rest[0] == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

static bool is_this_machine(const char *origin)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = strstr(origin, "://");
    bool is_found = false;
    for (size_t i = 0; host && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const size_t n = strlen(hosts[i]);
        is_found =
            is_found || (strncasecmp(host + 3, hosts[i], n) == 0 && is_end_of_host(host + 3 + n));
    }
    return is_found;
}

static bool is_text(const char *text, size_t size, const char *other)
{
    return strlen(other) == size && strncasecmp(text, other, size) == 0;
}

// Returns true if an allowed origin of size bytes covers another.
static bool covers(const char *allowed, size_t size, const char *origin)
{
    return is_text(allowed, size, "*") || is_text(allowed, size, origin) ||
           (is_text(allowed, size, "localhost") && is_this_machine(origin));
}

static bool matches_any(const struct serve_access *access,
                        bool (*matches)(const char *allowed, size_t size, const char *text),
                        const char *text)
{
    bool is_found = false;
    for (size_t i = 0; i < access->origins.count; i++) {
        for (const char *at = access->origins.items[i]; at;) {
            const size_t size = strcspn(at, ",");
            is_found = is_found || matches(at, size, text);
            at = at[size] ? at + size + 1 : NULL;
        }
    }
    return is_found;
}

bool serve_access_allows(const struct serve_access *access, const char *origin)
{
    return origin &&
           (access->origins.count == 0 ? access->n_keys > 0 : matches_any(access, covers, origin));
}

// Returns true for a host that cannot be the own name of a foreign page: an address, or a name that
// is not in the public DNS.
static bool is_local_host(const char *host)
{
    static const char *const endings[] = {".local",    ".localhost", ".lan",
                                          ".internal", ".home",      ".home.arpa"};
    const size_t size = strcspn(host, ":");
    const bool is_address = host[0] == '[' || strspn(host, "0123456789.") == size;
    bool is_local = is_address || !memchr(host, '.', size);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t n = strlen(endings[i]);
        is_local = is_local || (size > n && strncasecmp(host + size - n, endings[i], n) == 0);
    }
    return is_local;
}

// The owner of a name in the DNS can let it lead here after a page of it has been opened. So
// without a key, an http origin that equals the host is trusted only if it is local. With https, a
// proxy has shown a certificate for its name.
bool serve_access_trusts(const struct serve_access *access, const char *origin, const char *host)
{
    const char *name = origin ? strstr(origin, "://") : NULL;
    const bool is_same = name && host && strcasecmp(name + 3, host) == 0;
    const bool is_own = is_same && (access->n_keys > 0 || is_local_host(host) ||
                                    strncasecmp(origin, "https://", 8) == 0);
    return !origin || is_own || serve_access_allows(access, origin);
}

// Returns true if a host is that of an allowed origin of size bytes.
static bool is_host_of(const char *allowed, size_t size, const char *host)
{
    const char *begin = memmem(allowed, size, "://", 3);
    const char *own = begin ? begin + 3 : allowed, *end = allowed + size;
    size_t n = 0;
    while (own + n < end && own[n] != ':' && own[n] != '/') {
        n++;
    }
    return is_text(allowed, size, "*") ||
           (n == strcspn(host, ":") && strncasecmp(own, host, n) == 0);
}

static bool is_own_name(const struct serve_access *access, const char *host)
{
    char name[256] = "";
    return (gethostname(name, sizeof(name) - 1) == 0 && is_host_of(name, strlen(name), host)) ||
           matches_any(access, is_host_of, host);
}

// Browsers send Sec-Fetch-Site only for pages that came over a safe connection; pages cannot set
// it.
bool serve_access_knows(const struct serve_access *access, const char *host, const char *site)
{
    return !host || access->n_keys > 0 || is_local_host(host) || is_own_name(access, host) ||
           (site && strcmp(site, "same-origin") == 0);
}
