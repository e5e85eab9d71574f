// The rules of a tokenizer.json: its steps, and its added tokens with the places where they are
// found and the white space that they take.
#pragma once

#include "tokenizer/vocab/special.h"

struct gi_encoder;
struct gi_rules;

// Copies the rules of a vocabulary whose tokens have these types, which must live as long. Fails
// with BAD_FILE (an added token outside the vocabulary), and as gi_steps_create does.
struct gi_rules *gi_rules_create(const struct gi_vocab *vocab, const uint8_t *types,
                                 struct glinfer_error *err);
// Accepts NULL.
void gi_rules_destroy(struct gi_rules *rules);

// Returns one byte a token: 1 if it is found in a text before the steps.
const uint8_t *gi_rules_found_first(const struct gi_rules *rules);

// Replaces the matches, in the order of their offsets, by those that are taken from left to right,
// with the white space that they take.
void gi_rules_resolve(const struct gi_rules *rules, struct gi_text text,
                      struct gi_special_matches *matches);

// Part of a text without special tokens.
struct gi_rules_part {
    struct gi_text text;
    bool is_first;      // it is the start of all that is encoded
    bool parse_special; // control tokens may be spelled in it
    bool finds_marks;   // user-defined tokens, too
};

// Takes the part through the steps and appends the ids of its pieces.
void gi_rules_encode(struct gi_encoder *encoder, const struct gi_rules_part *part);
