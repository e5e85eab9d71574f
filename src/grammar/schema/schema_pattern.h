// Regular expressions as schemas have them, ECMA-262's, as automata. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_automaton.h"

// Returns the automaton of the texts in which a pattern is found. Where readers of patterns differ
// (\w, \d and \s of letters beyond ASCII) it has the texts that all of them match; if is_wide,
// those that any of them does. Refuses back references, \b, \p, and lookahead that does not follow
// ^ at the beginning.
const struct gi_dfa *gi_schema_pattern(struct gi_schema_compiler *c, const char *pattern,
                                       bool is_wide);
