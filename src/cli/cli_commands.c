#include "cli/cli_commands.h"

#include <string.h>

const struct cli_command *const cli_commands[] = {
#define COMMAND_ADDRESS(name) &cli_##name##_command,
    CLI_COMMANDS(COMMAND_ADDRESS) NULL,
#undef COMMAND_ADDRESS
};

const struct cli_command *cli_find_command(const char *name)
{
    const struct cli_command *const *command = cli_commands;
    while (*command && strcmp((*command)->name, name) != 0) {
        command++;
    }
    return *command;
}
