// How a command starts.
#ifndef CLI_START_H
#define CLI_START_H

#include "cli/common/cli_args.h"

// Reads the words behind the command's name into *settings, as cli_parse does, and notes on stderr which of them mean
// nothing. False where the command ends by that, with its exit status: its help was asked for, and printed, or a word is
// wrong, and it was said how.
bool cli_start(const struct cli_command *command, void *settings, int argc, const char *const *argv,
               int *status);

#endif
