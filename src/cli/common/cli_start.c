#include "cli/common/cli_start.h"

#include "cli/common/cli_io.h"

bool cli_start(const struct cli_command *command, void *settings, int argc, const char *const *argv,
               int *status)
{
    struct cli_report report;
    switch (cli_parse(command, settings, argc, argv, &report)) {
    case CLI_PARSED_HELP:
        cli_print_help(stdout, command);
        *status = cli_close_help();
        return false;
    case CLI_PARSED_WRONG:
        *status = cli_fail(CLI_EXIT_USAGE, "%s", report.error);
        return false;
    case CLI_PARSED:
        break;
    }
    cli_print_notes(stderr, command, &report);
    return true;
}
