// Finds rules that begin with themselves, for which a matcher would not end, and alternatives
// without an end. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/grammar_node.h"

#define GI_NO_RECURSION UINT32_MAX

// Sets *rule to a rule that begins with itself, or to GI_NO_RECURSION. Fails with NO_MEMORY.
bool gi_grammar_find_left_recursion(const struct gi_grammar *grammar, uint32_t *rule,
                                    struct glinfer_error *err);
// Cuts the alternatives whose texts never end, so that no answer begins one. Sets *has_end if the
// root has a text that ends. Fails with NO_MEMORY.
bool gi_grammar_cut_endless(struct gi_grammar *grammar, bool *has_end, struct glinfer_error *err);
