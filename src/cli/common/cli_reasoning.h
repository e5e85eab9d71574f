// Separates the thoughts of reasoning models from the rest of an answer while it is generated: text
// between marks such as <think> and </think>, or messages of their own channel, as in gpt-oss.
#pragma once

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <stdbool.h>

// The beginning of an answer, found at the end of its prompt.
enum cli_reasoning_kind {
    CLI_REASONING_PLAIN,      // with text, or the mark of a thought
    CLI_REASONING_CHANNELS,   // with the header of a message, after <|start|>assistant
    CLI_REASONING_THROUGHOUT, // as PLAIN, and thoughts may follow text: Gemma 4
    CLI_REASONING_OPEN,       // within a thought; those above tell by which mark it was opened
};

struct cli_reasoning {
    bool is_thinking;         // a thought comes next
    bool has_channels;        // the answer is messages with headers
    bool is_throughout;       // thoughts come anywhere in it
    bool is_header;           // a header may come next, or text
    const char *end;          // the mark that ends the thought
    struct cli_bytes waiting; // text that may begin a mark, after the pieces that were taken
    size_t taken;
};

// A piece of an answer; text is borrowed up to the next cli_reasoning_append.
struct cli_piece {
    const char *text;
    size_t size;
    bool is_thought, is_mark;
};

// Returns the text of a token: what was delivered (text_size bytes), or the name of a control token
// that is a mark in this answer. Sets *size.
const char *cli_reasoning_text(const struct cli_reasoning *reasoning,
                               const struct glinfer_tokenizer *tokenizer, int32_t id,
                               const char *text, size_t text_size, size_t *size);
// Returns a kind, or CLI_REASONING_OPEN and more if a prompt ends within a thought, as some
// templates leave it.
int cli_reasoning_find_open(const struct glinfer_tokenizer *tokenizer,
                            const struct cli_ids *prompt);

// Returns the mark that ends the thought that a kind is open in, NULL for one that is not.
const char *cli_reasoning_end_of(int kind);

// Begins an answer of a kind.
void cli_reasoning_begin(struct cli_reasoning *reasoning, int kind);
void cli_reasoning_append(struct cli_reasoning *reasoning, const char *text, size_t size);
// Takes the next piece; false if the rest may be the beginning of a mark.
bool cli_reasoning_next(struct cli_reasoning *reasoning, struct cli_piece *piece);
// Takes the waiting text of a finished answer.
struct cli_piece cli_reasoning_rest(struct cli_reasoning *reasoning);
void cli_reasoning_finish(struct cli_reasoning *reasoning);

// Appends an answer of a kind without its thoughts.
void cli_reasoning_strip(int kind, const char *text, size_t size, struct cli_bytes *content);
