// Thoughts of models that reason, between <think> and </think>: tells them and their marks from the
// rest of an answer while it comes.
#ifndef CLI_REASONING_H
#define CLI_REASONING_H

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <stdbool.h>

struct cli_reasoning {
    bool is_thinking;         // what comes next is a thought
    struct cli_bytes waiting; // text that may be the beginning of a mark, behind what was taken
    size_t taken;
};

// A piece of an answer; text is borrowed up to the next cli_reasoning_append.
struct cli_piece {
    const char *text;
    size_t size;
    bool is_thought, is_mark;
};

// Returns the text of a token: what was delivered (text_size bytes), or the name of a control token
// that is a mark of thoughts. Sets *size.
const char *cli_reasoning_text(const struct glinfer_tokenizer *tokenizer, int32_t id,
                               const char *text, size_t text_size, size_t *size);
// True if a prompt ends within a thought, as some templates leave it.
bool cli_reasoning_is_open(const struct glinfer_tokenizer *tokenizer, const struct cli_ids *prompt);

// Begins an answer.
void cli_reasoning_begin(struct cli_reasoning *reasoning, bool is_thinking);
void cli_reasoning_append(struct cli_reasoning *reasoning, const char *text, size_t size);
// Takes the next piece; false if the rest may be the beginning of a mark.
bool cli_reasoning_next(struct cli_reasoning *reasoning, struct cli_piece *piece);
// Takes all that waits, of an answer that is over.
struct cli_piece cli_reasoning_rest(struct cli_reasoning *reasoning);
void cli_reasoning_finish(struct cli_reasoning *reasoning);

#endif
