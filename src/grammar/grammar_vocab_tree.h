// The inside of a vocabulary, for the matcher. Inner to src/grammar.
#pragma once

#include "grammar/grammar_vocab.h"

#define GI_GRAMMAR_MAX_TOKEN_SIZE 4096

// One byte of a prefix. Nodes stand in the order of a walk that goes down first.
struct gi_vocab_node {
    uint32_t end;         // the first node that does not have this one as a prefix
    uint32_t first_token; // in by_text, of the tokens that end with this byte
    uint16_t n_tokens;
    uint16_t depth; // from 0
    uint8_t byte;
};

struct gi_grammar_vocab {
    size_t n_tokens;
    struct gi_vocab_node *nodes;
    size_t n_nodes;
    uint32_t *by_text; // ids of tokens with text, sorted by it
    uint8_t *kinds;    // (n_tokens) enum gi_grammar_token_kind
    uint32_t *offsets; // (n_tokens + 1) into bytes
    uint8_t *bytes;
    uint32_t *ends; // ids of the tokens that end a text
    size_t n_ends;
    uint32_t max_depth; // bytes of the longest token
};
