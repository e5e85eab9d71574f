// A grammar that text has to follow, in GBNF. Matching is in grammar_matcher.h; JSON schemas become
// grammars in json_schema.h. No GL, no tokenizer.
//
// GBNF, with what it may be made of here:
//   name ::= alternatives   letters, digits and "-"; `root` is the whole text
//   "text"  [a-z]  [^a-z]   \n \r \t \xHH \uHHHH \UHHHHHHHH \\ \" \[ \] \- are escapes
//   .                       any character
//   ( )  |  ? * + {m} {m,} {m,n}
//   <think>  <[1000]>       the token of that text or id;  !<think>  any other token
//   # comment               to the end of the line
// A rule ends with its line; within parentheses, after ::= and after | lines may end anywhere.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

// A grammar that was read. Immutable, so that many threads may use one.
struct gi_grammar;

// Finds the token that a text spells. NULL in its place: grammars with tokens are refused.
struct gi_grammar_names {
    // Returns the id of the one token that text is, or -1 without exactly one.
    int32_t (*find)(void *user, const char *text, size_t size);
    void *user;
    int32_t n_tokens; // ids are below
};

// Reads a grammar of size bytes, any bytes. Fails with INVALID_ARGUMENT (line and column, and what
// is wrong there: syntax, a rule without a definition, no `root`, a rule that begins with itself,
// nesting deeper than 100, a repetition of more than 10,000, a text or grammar that is too large),
// UNSUPPORTED (tokens without names), NO_MEMORY. Freed with gi_grammar_destroy, which accepts NULL.
struct gi_grammar *gi_grammar_create(const char *text, size_t size,
                                     const struct gi_grammar_names *names,
                                     struct glinfer_error *err);
void gi_grammar_destroy(struct gi_grammar *grammar);
