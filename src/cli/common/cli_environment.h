// The environment variables that commands read: their help, and warnings of unknown ones.
#pragma once

// The lines of the help. The variables that it names are all that are known: a test compares them
// with the man page and with those that the code reads.
extern const char cli_environment[];

// Warns on stderr about every unknown variable GLINFER_..., such as a misspelt one.
void cli_check_environment(void);
