// `glinfer tokenize`: text to token ids.
#ifndef CLI_TOKENIZE_H
#define CLI_TOKENIZE_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_tokenize_command;
int cli_tokenize(int argc, const char *const *argv);

#endif
