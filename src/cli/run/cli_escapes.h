// Escapes in texts of the command line.
#pragma once

#include "cli/common/cli_memory.h"

// Replaces \n, \t, \r, \\, \", \' and \xHH by the characters that they stand for; other backslashes
// stay.
void cli_resolve_escapes(struct cli_bytes *bytes);
