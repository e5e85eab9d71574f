// `glinfer tune`: measures the shapes of kernels on this device.
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_tune_command;
int cli_tune(int argc, const char *const *argv);

#endif
