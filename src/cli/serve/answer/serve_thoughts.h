// Tells the thought that an answer begins with from its content, while it comes; where thoughts
// come anywhere, all of them.
#ifndef SERVE_THOUGHTS_H
#define SERVE_THOUGHTS_H

#include "cli/common/cli_reasoning.h"

struct serve_thoughts {
    bool is_on;    // what comes may be a thought
    bool is_named; // control tokens that are marks have their names, where thoughts are not told
    struct cli_reasoning reasoning;
    struct cli_bytes text; // of the thought, without white space around it
    size_t shown;          // bytes of it that a stream has sent
};

// Begins an answer of a kind, as cli_reasoning_find_open finds it; is_on: thoughts are told from
// it.
void serve_thoughts_begin(struct serve_thoughts *thoughts, int kind, bool is_on);
// True if the content that is there may yet turn out to be white space before a thought.
bool serve_thoughts_is_before_content(const struct serve_thoughts *thoughts);
// Appends what comes to the thought or to the content, which has no white space behind a thought.
void serve_thoughts_take(struct serve_thoughts *thoughts, const char *text, size_t size,
                         struct cli_bytes *content);
// Takes what waits, of an answer that is over.
void serve_thoughts_close(struct serve_thoughts *thoughts, struct cli_bytes *content);
// Returns the bytes of the thought that are surely not white space at its end.
size_t serve_thoughts_count(const struct serve_thoughts *thoughts);
void serve_thoughts_finish(struct serve_thoughts *thoughts);

#endif
