// Strings: lengths, patterns and formats. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_set.h"

// The conditions of a case on strings.
struct gi_strings {
    const struct gi_dfa *dfa; // NULL: nothing but the lengths
    struct gi_span span;      // characters
};

// Returns the conditions of a case on strings, without its constants.
struct gi_strings gi_schema_strings_of(struct gi_schema_compiler *c, const struct gi_case *one);
// Returns the automaton of all of it.
const struct gi_dfa *gi_strings_automaton(struct gi_schema_compiler *c,
                                          const struct gi_strings *strings);
// Returns the automaton of the names that members of an object may have; NULL: any.
const struct gi_dfa *gi_schema_names_of(struct gi_schema_compiler *c, const struct gi_case *one);

// Builds the strings of a case; GI_BUILD_NOTHING without any.
uint32_t gi_schema_build_strings(struct gi_schema_compiler *c, const struct gi_case *one);
// Builds an automaton's texts as strings of JSON, or as numbers.
uint32_t gi_schema_build_dfa(struct gi_schema_compiler *c, const struct gi_dfa *dfa, bool is_string,
                             uint32_t next);

// Returns the pattern that stands for a format, one without texts of any length if is_bounded and
// there is such a one; NULL if the format is unknown.
const char *gi_schema_format(const char *name, bool is_bounded);
