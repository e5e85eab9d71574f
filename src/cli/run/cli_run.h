// `glinfer run`: one prompt, one answer.
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_run_command;
// Runs the command on the words behind its name; returns the exit status.
int cli_run(int argc, const char *const *argv);

#endif
