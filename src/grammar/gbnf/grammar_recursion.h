// Finds rules that begin with themselves, which no matcher gets out of, and what no text gets out
// of. Inner to src/grammar.
#ifndef GI_GRAMMAR_GBNF_GRAMMAR_RECURSION_H
#define GI_GRAMMAR_GBNF_GRAMMAR_RECURSION_H

#include "grammar/gbnf/grammar_node.h"

// Sets *rule to one that begins with itself, to GI_SYNTAX_NONE if there is none. Fails with
// NO_MEMORY.
bool gi_grammar_find_left_recursion(const struct gi_grammar *grammar, uint32_t *rule,
                                    struct glinfer_error *err);
// Cuts the alternatives that no text gets out of, so that no answer begins one. Sets *has_end if
// the root has a text that ends. Fails with NO_MEMORY.
bool gi_grammar_cut_endless(struct gi_grammar *grammar, bool *has_end, struct glinfer_error *err);

#endif
