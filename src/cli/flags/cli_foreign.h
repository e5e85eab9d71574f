// Flags of llama.cpp's programs that no table of a command has: those that change nothing are
// taken with a note, for the others a sentence says what to use.
#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

#include "cli/common/cli_args.h"

// Returns the row of such a flag, of kind CLI_KIND_IGNORED or CLI_KIND_MISSING; NULL: there is
// none.
const struct cli_flag *cli_foreign_find(const char *word, size_t size);
// Returns a command that has a flag of this name; NULL: none has.
const char *cli_foreign_owner(const char *word);

#endif
