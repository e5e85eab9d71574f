// `glinfer perplexity`: how well the model predicts a text, in llama.cpp's windows.
#ifndef CLI_PERPLEXITY_H
#define CLI_PERPLEXITY_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_perplexity_command;
int cli_perplexity(int argc, const char *const *argv);

#endif
