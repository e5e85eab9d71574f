// Separates the thought at the beginning of an answer from its content as it grows; for some
// models, thoughts anywhere in it.
#pragma once

#include "cli/common/cli_reasoning.h"

struct serve_thoughts {
    bool is_on;    // the next text may be a thought
    bool is_named; // thoughts are not separated: control tokens that mark them are text
    struct cli_reasoning reasoning;
    struct cli_bytes text; // of the thought, without white space around it
    size_t shown;          // bytes of it that a stream has sent
};

// Begins an answer of a kind that cli_reasoning_find_open returned; is_on: separates thoughts.
void serve_thoughts_begin(struct serve_thoughts *thoughts, int kind, bool is_on);
// Returns true if the content so far may be white space before a thought.
bool serve_thoughts_is_before_content(const struct serve_thoughts *thoughts);
// Appends text to the thought or to the content. White space after a thought is dropped.
void serve_thoughts_take(struct serve_thoughts *thoughts, const char *text, size_t size,
                         struct cli_bytes *content);
// Appends the text that was held back; the answer is complete.
void serve_thoughts_close(struct serve_thoughts *thoughts, struct cli_bytes *content);
// Returns the size of the thought without white space at its end.
size_t serve_thoughts_count(const struct serve_thoughts *thoughts);
void serve_thoughts_finish(struct serve_thoughts *thoughts);
