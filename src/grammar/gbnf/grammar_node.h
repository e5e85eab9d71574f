// A grammar as a graph, which the matcher walks: nodes, and characters as automata over bytes.
// Inner to src/grammar.
#pragma once

#include "grammar/gbnf/char_automaton.h"

enum gi_node_kind {
    GI_NODE_END,       // the rule is complete; node 0 is the only one
    GI_NODE_CHAR,      // a: state of the automata before the character
    GI_NODE_SPLIT,     // goes on at next and at a
    GI_NODE_CALL,      // a: rule, next: where it returns to
    GI_NODE_TOKEN,     // a: id
    GI_NODE_NOT_TOKEN, // a: id
};

struct gi_node {
    enum gi_node_kind kind;
    uint32_t a, next;
};

struct gi_grammar {
    struct {
        struct gi_node *data;
        size_t count, capacity;
    } nodes;
    struct {
        uint32_t *data; // the first node of each rule; those of repeated groups stand at the end
        size_t count, capacity;
    } rules;
    struct gi_char_automata automata;
    uint32_t root;         // the rule `root`
    uint8_t class_of[256]; // bytes of one class are alike to every character of the grammar
    uint8_t bytes_of[256]; // one byte of each class
    uint32_t n_classes;    // 1 to 256
    bool has_tokens;
};
