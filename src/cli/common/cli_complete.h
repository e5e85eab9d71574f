// Completions for shells: the scripts of bash, zsh and fish ask the command itself, so that they
// know its flags and the models that are here.
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/common/cli_args.h"

// Prints what may stand in the place of the last of the words behind `glinfer`, which may be "": a
// line each, the word, a tab, what it is. The line ":file" says that files may stand there too.
void cli_complete(const struct cli_command *const *commands, size_t n_command, int argc,
                  const char *const *argv);

#endif
