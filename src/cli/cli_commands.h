// The table of commands.
#pragma once

#include "cli/common/cli_args.h"

enum { CLI_N_COMMON = 7 };
// Every command, in the order of the help: the common ones first.
#define CLI_COMMANDS(X)                                                                            \
    X(pull)                                                                                        \
    X(chat)                                                                                        \
    X(run)                                                                                         \
    X(serve)                                                                                       \
    X(transcribe)                                                                                  \
    X(models)                                                                                      \
    X(info)                                                                                        \
    X(bench)                                                                                       \
    X(convert)                                                                                     \
    X(embed)                                                                                       \
    X(perplexity)                                                                                  \
    X(profile)                                                                                     \
    X(report)                                                                                      \
    X(selftest)                                                                                    \
    X(tokenize)                                                                                    \
    X(tune)

#define CLI_DECLARE_COMMAND(name) extern const struct cli_command cli_##name##_command;
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

extern const struct cli_command *const cli_commands[]; // ends with NULL
// Returns a command by its name, or NULL.
const struct cli_command *cli_find_command(const char *name);
