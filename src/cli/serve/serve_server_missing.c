// Replaces the server in builds without libmicrohttpd.
#include "cli/serve/serve_server.h"

bool serve_server_run(const struct serve_settings *settings)
{
    (void)settings;
    return cli_fail(CLI_EXIT_FAILED, "this glinfer was built without libmicrohttpd, which serve "
                                     "needs: install libmicrohttpd-dev and build it anew");
}
