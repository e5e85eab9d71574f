// `glinfer chat`: a conversation.
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "cli/common/cli_args.h"

extern const struct cli_command cli_chat_command;
int cli_chat(int argc, const char *const *argv);

#endif
