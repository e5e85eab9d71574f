// Thoughts of models that reason, between <think> and </think>: on a terminal they are shown dimmed
// and without the marks, elsewhere the answer is written as it is.
#ifndef CLI_THOUGHTS_H
#define CLI_THOUGHTS_H

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <stdbool.h>

struct cli_thoughts {
    bool is_styled; // set by the owner: marks become dim text
    // Kept here:
    bool is_thinking, is_dim;
    bool is_line_open;        // what was written last ends no line
    struct cli_bytes waiting; // text that may be the beginning of a mark
};

// Returns what a terminal is given for a token: its text, or the name of a control token that is a
// mark of thoughts. Sets *size.
const char *cli_thoughts_text(const struct glinfer_tokenizer *tokenizer,
                              const struct glinfer_token *token, size_t *size);
// True if a prompt ends within a thought, as some templates leave it.
bool cli_thoughts_open(const struct glinfer_tokenizer *tokenizer, const struct cli_ids *prompt);

// Begins an answer.
void cli_thoughts_begin(struct cli_thoughts *thoughts, bool is_thinking);
// Writes a piece of an answer; false if it did not arrive.
bool cli_thoughts_write(struct cli_thoughts *thoughts, const char *text, size_t size);
// Writes what waits, ends dim text and an open line.
void cli_thoughts_end(struct cli_thoughts *thoughts);
void cli_thoughts_finish(struct cli_thoughts *thoughts);

#endif
