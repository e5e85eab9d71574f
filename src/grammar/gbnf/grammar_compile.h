// Turns the tree of a grammar into nodes. Inner to src/grammar.
#ifndef GI_GRAMMAR_GBNF_GRAMMAR_COMPILE_H
#define GI_GRAMMAR_GBNF_GRAMMAR_COMPILE_H

#include "grammar/gbnf/grammar_node.h"
#include "grammar/gbnf/grammar_syntax.h"

// Fills the nodes, rules and automata of *grammar, which is zero-initialised. Fails with
// INVALID_ARGUMENT (more than 2^20 nodes) and NO_MEMORY.
bool gi_grammar_compile(struct gi_grammar *grammar, const struct gi_syntax *syntax,
                        struct glinfer_error *err);

#endif
