// Stands in for the server where libmicrohttpd was not there when the command was built.
#include "cli/serve/serve_server.h"

bool serve_server_run(const struct serve_server_params *params)
{
    (void)params;
    return cli_fail(CLI_EXIT_FAILED, "this glinfer was built without libmicrohttpd, which serve "
                                     "needs: install libmicrohttpd-dev and build it anew");
}
