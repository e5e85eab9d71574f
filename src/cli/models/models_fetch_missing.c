// In the place of models_fetch.c where libcurl and nettle are not there.
#include "cli/models/models_fetch.h"

static bool refuse(const struct models_wanted *wanted)
{
    return cli_fail(CLI_EXIT_FAILED,
                    "%s: this glinfer was built without libcurl and fetches nothing; fetch %s with "
                    "another program, and give its path: -m FILE.gguf",
                    wanted->name, wanted->url);
}

bool models_fetch(const struct models_wanted *wanted)
{
    return refuse(wanted);
}

bool models_fetch_text(const struct models_wanted *wanted, struct cli_bytes *text)
{
    (void)text;
    return refuse(wanted);
}

bool models_hash_path(const char *path, char sha256[65])
{
    (void)path;
    sha256[0] = '\0';
    return true;
}
