// The behaviour of an answer when its context is full: it ends, fails, or continues after a shift,
// which keeps the first tokens and drops half of the others. Keys were rotated to their positions
// and values depend on all earlier tokens, so the rows of tokens that move are recomputed from
// their ids, as those of a prompt. There is at most one recomputed token per generated token, and
// it is several times cheaper.
#pragma once

#include "engine/answer/answer.h"

// Returns the tokens of the prompts that an answer may process, as gi_tables_choose takes them.
size_t gi_answer_prompt_size(const struct gi_answer *answer);
// Ends the answer after its last token, or notes that the context is full.
void gi_answer_reach_limit(struct gi_answer *answer);
// Makes room in a context that is full, for the next chain to go on in: begins to compute the rows
// that moved; no chain is in flight. Fails with CONTEXT_FULL if that was asked for, else as a
// prompt does.
bool gi_answer_make_room(struct gi_answer *answer);
