// Reads GBNF into the nodes of a grammar: rules `name ::= alternatives`, literals, classes, ".",
// groups, "? * + {m} {m,} {m,n}", <tokens> and comments. A text is not trusted: sizes and nesting
// are bounded. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/grammar_rules.h"

// Builds the rules of a text. Every rule that is mentioned is defined. Fails with INVALID_ARGUMENT
// (line, column and the reason; more than 2^20 nodes), UNSUPPORTED (a token where names is NULL)
// and NO_MEMORY.
bool gi_gbnf_read(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *text, size_t size,
                  const struct gi_grammar_names *names);
