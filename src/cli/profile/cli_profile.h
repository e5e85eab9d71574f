// `glinfer profile`: where the time of a token goes.
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_profile_command;
int cli_profile(int argc, const char *const *argv);

#endif
