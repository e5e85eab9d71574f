// llama.cpp's flags that no command has. Those without effect are accepted with a note; for the
// others, a sentence says what to use instead.
#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

#include "cli/common/cli_args.h"

// The rows, of kind CLI_KIND_IGNORED and CLI_KIND_MISSING; the last has no names.
extern const struct cli_flag cli_foreign_flags[];
// Returns the row that has a name of these bytes, or NULL.
const struct cli_flag *cli_foreign_find(const char *word, size_t size);

#endif
