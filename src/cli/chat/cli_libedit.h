// Line editing and history on a terminal by libedit.
#pragma once

#include "cli/chat/cli_lines.h"

// Until it is closed the terminal shows what is typed only while a line is read: what comes before
// that is shown with the line. The history lies in $XDG_STATE_HOME/glinfer or
// ~/.local/state/glinfer.
extern const struct cli_editor cli_libedit;
// Completes words for the Tab key; NULL: none.
extern cli_complete_fn cli_libedit_complete;
