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

// Accepts NULL.
void gi_grammar_destroy(struct gi_grammar *grammar);
