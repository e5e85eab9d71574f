// The variables that commands read: what the help says of them, and a word on those that nothing reads.
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

// The help's lines. What it names is all that is known: a test compares it with README.md and with what the code reads.
extern const char cli_environment[];

// Warns on stderr of every variable GLINFER_... that is none of these, as a misspelt one is.
void cli_check_environment(void);

#endif
