// Replaces `glinfer transcribe` in builds without libsndfile, libsamplerate or zlib.
#include "cli/cli_commands.h"
#include "cli/common/cli_session.h"

struct settings {
    struct cli_session_flags session;
};

static struct settings defaults;

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {CLI_MODEL_FLAGS};

static bool run_command(void *user)
{
    (void)user;
    return cli_fail(CLI_EXIT_FAILED,
                    "this glinfer was built without libsndfile, libsamplerate and zlib, which "
                    "transcribe needs: install libsndfile1-dev, libsamplerate0-dev and zlib1g-dev "
                    "and build it anew");
}

const struct cli_command cli_transcribe_command = {
    .name = "transcribe",
    .usage = "-m MODEL FILE...",
    .summary = "Writes the text of speech.",
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
