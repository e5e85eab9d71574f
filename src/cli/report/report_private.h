// Removes names of people, and of the folders of their files, from a report.
#pragma once

#include "cli/common/cli_memory.h"

// Replaces, in a text: `name`, unless NULL, by what follows its last slash; `home`, unless NULL, by
// "~"; every other absolute path by "..." and what follows its last slash, except below /dev, /sys,
// /proc, /usr and /lib.
void report_make_private(struct cli_bytes *text, const char *name, const char *home);
