// Shows thoughts of models that reason: on a terminal dimmed and without their marks, elsewhere the
// answer is written as it is. On a terminal, lines are broken between words.
#pragma once

#include "cli/chat/cli_wrap.h"
#include "cli/common/cli_reasoning.h"

struct cli_thoughts {
    bool is_styled; // set by the owner: marks become dim text
    // Kept here:
    struct cli_reasoning reasoning;
    struct cli_wrap wrap;
    bool is_dim;
    bool is_line_open; // the text so far does not end with a newline
};

// Begins an answer of a kind, as cli_reasoning_find_open finds it.
void cli_thoughts_begin(struct cli_thoughts *thoughts, int kind);
// Writes a piece of an answer; false if it did not arrive.
bool cli_thoughts_write(struct cli_thoughts *thoughts, const char *text, size_t size);
// Writes the pending text, ends dim text and an open line.
void cli_thoughts_end(struct cli_thoughts *thoughts);
void cli_thoughts_finish(struct cli_thoughts *thoughts);
