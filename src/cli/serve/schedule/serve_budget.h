// The limit of the thought of an answer: --reasoning-budget. The thread of the GPU counts the
// tokens of the thought; at the limit it ends the generation, and begins another one after the
// thought's end mark.
#pragma once

#include "cli/common/cli_reasoning.h"

struct serve_budget {
    bool is_on;
    int64_t most;        // tokens of the thought
    const char *message; // its last words, borrowed; NULL: none
    struct cli_reasoning reasoning;
    int64_t n_thought, n_token; // tokens so far, of the thought and of the answer
    double first;               // cli_now() at the first token
    bool is_over;               // the limit was reached
};

// Begins an answer of a kind that cli_reasoning_find_open returned.
void serve_budget_begin(struct serve_budget *budget, int kind);
void serve_budget_finish(struct serve_budget *budget);
// Counts a token. Returns true if the thought has to end after it.
bool serve_budget_take(struct serve_budget *budget, const struct glinfer_tokenizer *tokenizer,
                       const struct glinfer_token *token);
// Appends the text that ends the thought.
void serve_budget_end_text(const struct serve_budget *budget, struct cli_bytes *text);
