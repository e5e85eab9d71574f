// The grammar that constrains an answer: follows its tokens and returns the tokens that may come
// next. A session keeps the constraint of its last answer, so that the next one with the same
// grammar reuses the parsed grammar and its masks.
#pragma once

#include "engine/session/session.h"

struct gi_constraint;

// Checks the arguments of params->grammar. Fails with INVALID_ARGUMENT.
bool gi_constraint_check(const struct glinfer_generate_params *params, struct glinfer_error *err);
// Parses a grammar whose tokens any vocabulary has. Fails as gi_constraint_begin does.
bool gi_constraint_try(const struct glinfer_grammar *grammar, struct glinfer_error *err);
// Sets session->constraint to the grammar, and begins a text. Fails with INVALID_ARGUMENT (an error
// in a grammar or schema, with its place), UNSUPPORTED, NO_MEMORY.
bool gi_constraint_begin(struct glinfer_session *session, const struct glinfer_grammar *grammar,
                         struct glinfer_error *err);
// Returns true if the constraint, which may be NULL, was made from that grammar.
bool gi_constraint_is(const struct gi_constraint *constraint,
                      const struct glinfer_grammar *grammar);

// Returns a mask of tokens, valid until the next call: bit i % 32 of word i / 32 is 1 if token i
// may come next. NULL with UNSUPPORTED, NO_MEMORY, or INVALID_ARGUMENT if no token may.
const uint32_t *gi_constraint_mask(struct gi_constraint *constraint, struct glinfer_error *err);
// Appends a token that the mask allowed. Fails as gi_constraint_mask does.
bool gi_constraint_accept(struct gi_constraint *constraint, uint32_t token,
                          struct glinfer_error *err);
