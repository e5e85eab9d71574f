// Finite automata over characters, for all that a schema asks of strings, names and numbers:
// patterns, formats, lengths and ranges are automata, and conditions that hold together are their
// product. The compiler owns them. Every function may fail by the compiler, then returns NULL; NULL
// as an argument gives NULL. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/char_automaton.h"
#include "grammar/schema/schema_compiler.h"

// Characters from lo to hi lead to a state.
struct gi_dfa_edge {
    uint32_t lo, hi, to;
};

struct gi_dfa_state {
    uint32_t first, count; // of edges, which are sorted
    bool is_end;
};

// A deterministic automaton. State 0 is the first; without states it allows nothing.
struct gi_dfa {
    struct {
        struct gi_dfa_state *data;
        size_t count, capacity;
    } states;
    struct {
        struct gi_dfa_edge *data;
        size_t count, capacity;
    } edges;
};

// Building: a new automaton, states one after another, the edges of each after it in the order of
// their characters, and at the end one of the same texts without states that lead nowhere, and with
// few that are equal, which consumes it.
struct gi_dfa *gi_dfa_create(struct gi_schema_compiler *c);
bool gi_dfa_add_state(struct gi_schema_compiler *c, struct gi_dfa *dfa, bool is_end);
bool gi_dfa_add_edge(struct gi_schema_compiler *c, struct gi_dfa *dfa, uint32_t lo, uint32_t hi,
                     uint32_t to);
const struct gi_dfa *gi_dfa_tidy(struct gi_schema_compiler *c, struct gi_dfa *dfa);

// Nodes of a regular expression as Thompson's construction has them.
enum gi_nfa_kind {
    GI_NFA_CLASS, // a character of the ranges from first to first + count, then next
    GI_NFA_SPLIT, // goes on at next and at other
    GI_NFA_BEGIN, // goes on at next where the text begins
    GI_NFA_END,   // goes on at next where the text ends
    GI_NFA_MATCH,
};

struct gi_nfa_node {
    enum gi_nfa_kind kind;
    uint32_t next, other;
    uint32_t first, count;
};

struct gi_nfa {
    struct {
        struct gi_nfa_node *data;
        size_t count, capacity;
    } nodes;
    struct {
        struct gi_code_range *data;
        size_t count, capacity;
    } ranges; // normalised for each node
    uint32_t start;
};

void gi_nfa_finish(struct gi_nfa *nfa);
// Adds a node and returns its index.
static inline uint32_t gi_nfa_add(struct gi_schema_compiler *c, struct gi_nfa *nfa,
                                  struct gi_nfa_node node)
{
    return GI_SCHEMA_PUSH(c, &nfa->nodes, node) ? (uint32_t)nfa->nodes.count - 1 : 0;
}

// Returns the automaton of the texts that a walk from the start to a match spells.
const struct gi_dfa *gi_dfa_of_nfa(struct gi_schema_compiler *c, const struct gi_nfa *nfa);

// States of an automaton.
#define GI_DFA_MAX_STATES 20000

// Returns the automaton of n texts.
const struct gi_dfa *gi_dfa_of_texts(struct gi_schema_compiler *c, const char *const *texts,
                                     size_t n);
// Returns the automaton of texts of least to most characters; UINT32_MAX: any number.
const struct gi_dfa *gi_dfa_of_lengths(struct gi_schema_compiler *c, uint32_t least, uint32_t most);

// Returns the automaton of the texts of a that b has too, or that b does not have.
const struct gi_dfa *gi_dfa_product(struct gi_schema_compiler *c, const struct gi_dfa *a,
                                    const struct gi_dfa *b, bool is_without);
// Returns the automaton of all texts that are not of a.
const struct gi_dfa *gi_dfa_complement(struct gi_schema_compiler *c, const struct gi_dfa *a);

bool gi_dfa_is_empty(const struct gi_dfa *dfa);
// Returns true if the automaton has the UTF-8 text.
bool gi_dfa_allows(const struct gi_dfa *dfa, const char *text);
// Returns the number of characters of its shortest text, and of its longest; UINT32_MAX if there is
// none.
uint32_t gi_dfa_shortest(struct gi_schema_compiler *c, const struct gi_dfa *dfa);
uint32_t gi_dfa_longest(struct gi_schema_compiler *c, const struct gi_dfa *dfa);
