// Every command: one line each, in the order of the help.
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/common/cli_args.h"

#define CLI_COMMANDS(X)                                                                            \
    X(run)                                                                                         \
    X(chat)                                                                                        \
    X(bench)                                                                                       \
    X(embed)                                                                                       \
    X(info)                                                                                        \
    X(models)                                                                                      \
    X(perplexity)                                                                                  \
    X(profile)                                                                                     \
    X(pull)                                                                                        \
    X(selftest)                                                                                    \
    X(serve)                                                                                       \
    X(tokenize)                                                                                    \
    X(tune)

#define CLI_DECLARE_COMMAND(name) extern const struct cli_command cli_##name##_command;
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

#endif
