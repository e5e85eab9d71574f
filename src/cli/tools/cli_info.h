// `glinfer info`: the devices of this machine, or a model and the memory it takes.
#ifndef CLI_INFO_H
#define CLI_INFO_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_info_command;
int cli_info(int argc, const char *const *argv);

#endif
