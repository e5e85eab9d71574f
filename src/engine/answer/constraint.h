// The grammar that an answer keeps to: follows its tokens and says which may come next. A session
// keeps the one of its last answer, so that the same grammar is read once and the masks of states
// that were seen are there.
#ifndef GI_ENGINE_CONSTRAINT_H
#define GI_ENGINE_CONSTRAINT_H

#include "engine/load/model.h"

struct gi_constraint;

// True unless the grammar of params cannot be taken: fails with INVALID_ARGUMENT.
bool gi_constraint_check(const struct glinfer_generate_params *params, struct glinfer_error *err);
// Makes *constraint, NULL at first, the constraint of params->grammar, and begins a text. Fails
// with INVALID_ARGUMENT (what is wrong in a grammar or a schema, and where), UNSUPPORTED,
// NO_MEMORY.
bool gi_constraint_begin(struct gi_constraint **constraint, struct glinfer_model *model,
                         const struct glinfer_grammar *grammar, struct glinfer_error *err);
// True if the constraint, which may be NULL, was made from that grammar.
bool gi_constraint_is(const struct gi_constraint *constraint,
                      const struct glinfer_grammar *grammar);
// Accepts NULL.
void gi_constraint_destroy(struct gi_constraint *constraint);

// Returns bit i % 32 of word i / 32 for token i, 1 if it may come next, valid until the next call;
// NULL with UNSUPPORTED, NO_MEMORY, or INVALID_ARGUMENT at a dead end.
const uint32_t *gi_constraint_mask(struct gi_constraint *constraint, struct glinfer_error *err);
// Appends a token that the mask allowed. Fails likewise.
bool gi_constraint_accept(struct gi_constraint *constraint, uint32_t token,
                          struct glinfer_error *err);

#endif
