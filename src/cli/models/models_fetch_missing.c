// In the place of models_fetch.c where libcurl and nettle are not there.
#include "cli/models/models_fetch.h"
#include "cli/models/models_source.h"

#define MISSING "this glinfer was built without libcurl or nettle and fetches nothing; "

bool models_fetch(const struct models_wanted *wanted)
{
    char shown[MODELS_MAX_URL];
    return cli_fail(CLI_EXIT_FAILED,
                    "%s: " MISSING "fetch %s with another program, and give its path: -m FILE.gguf",
                    wanted->name, models_shown(wanted->url, shown));
}

bool models_fetch_text(const struct models_wanted *wanted, struct cli_bytes *text,
                       char next[MODELS_MAX_URL])
{
    (void)text;
    next[0] = '\0';
    return cli_fail(CLI_EXIT_FAILED,
                    "%s: " MISSING "fetch a GGUF file of the repository with another program, and "
                    "give its path: -m FILE.gguf",
                    wanted->name);
}

bool models_hash_path(const char *path, char sha256[65])
{
    (void)path;
    sha256[0] = '\0';
    return true;
}

// A model that nothing can fetch again is left to the loader, which names its damage.
bool models_is_whole(const char *path, char *why, size_t size)
{
    (void)path, (void)why, (void)size;
    return true;
}
