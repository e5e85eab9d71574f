// Breaks the lines of an answer between words where a terminal would break them anywhere. Text
// comes in pieces; a word is shown once its end has come. Code between ``` and lines of tables stay
// as they are.
#pragma once

#include "cli/common/cli_memory.h"

#include <stdbool.h>

struct cli_wrap {
    size_t n_columns; // of the terminal; 0: no line is broken
    // Kept here:
    struct cli_bytes word;    // spaces and the word after them, not written yet
    size_t n_spaces;          // of these bytes
    size_t width;             // columns of the word
    size_t column;            // where the next character is written
    char character[4];        // bytes of one that is not complete
    size_t n_bytes, n_wanted; // that it has, and will have
    size_t n_ticks;           // ` at the beginning of the line
    bool is_first;            // nothing but spaces was in the line
    bool is_code, is_table;   // the text, or the line, is shown as it is
};

// Begins a text at the left edge.
void cli_wrap_begin(struct cli_wrap *wrap, size_t n_columns);
// Writes text to standard output; false if it did not arrive.
bool cli_wrap_write(struct cli_wrap *wrap, const char *text, size_t size);
// Writes the word that waits.
bool cli_wrap_flush(struct cli_wrap *wrap);
void cli_wrap_finish(struct cli_wrap *wrap);
