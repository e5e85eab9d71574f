// The states that texts lead to, as a graph that grows as it is walked. A state is the set of all
// places in the grammar where a text may be: a node, how far its character is, and the stack of
// rules around it. Equal sets are one state, and each keeps where its bytes lead, so that walking
// costs a look-up per byte. Inner to src/grammar.
#pragma once

#include "grammar/gbnf/grammar_node.h"
#include "grammar/match/match_frames.h"

enum {
    GI_MATCH_UNKNOWN, // not computed yet
    GI_MATCH_DEAD,    // the state that no text leads on from
    GI_MATCH_FIRST,   // the lowest number of other states
};

// A place. Node 0 with the empty stack: the text may end.
struct gi_place {
    uint32_t node, progress, frame; // progress: a state of the grammar's automata
};

struct gi_match_state {
    size_t n_places;
    struct gi_place *places; // sorted and distinct; stored after next
    uint32_t n_uses;         // by texts; a state without may be forgotten between calls
    bool may_end, has_tokens;
    uint32_t *mask;  // result of gi_grammar_mask, or NULL; owned
    uint32_t next[]; // (n_classes) states
};

struct gi_match_graph {
    const struct gi_grammar *grammar; // borrowed
    size_t memory;                    // bytes that may be used
    size_t used;                      // by states and masks; frames come on top
    struct glinfer_error *err;        // of the call in progress; borrowed, may be NULL
    bool has_failed;                  // the call in progress failed: nothing more is added
    uint64_t work;                    // places looked at since gi_match_begin
    struct gi_match_frames frames;
    struct {
        struct gi_match_state **data;
        size_t count, capacity;
    } states;
    struct {
        uint32_t *data; // numbers of states that were forgotten
        size_t count, capacity;
    } unused;
    struct gi_index index; // of states by their places
    // The set that is being made.
    struct {
        struct gi_place *data;
        size_t count, capacity;
    } set;
    struct {
        struct gi_frame *data; // node and stack to look at
        size_t count, capacity;
    } todo;
    struct {
        struct gi_frame *data; // hash table of those that were looked at, valid if stamps agree
        uint32_t *stamps;
        size_t n_slots, count;
        uint32_t stamp;
    } seen;
};

// Zero-initialised before.
bool gi_match_graph_init(struct gi_match_graph *graph, const struct gi_grammar *grammar,
                         size_t memory, struct glinfer_error *err);
void gi_match_graph_finish(struct gi_match_graph *graph);

// Begins a call of the API: forgets the states that no text uses if half of the memory is used. The
// functions below set has_failed and *err with UNSUPPORTED if the call needs more than `memory` or
// too much work, or with NO_MEMORY. From then on they return GI_MATCH_DEAD.
void gi_match_begin(struct gi_match_graph *graph, struct glinfer_error *err);

// Makes a set and returns its state: begin, add, end. Adding a node adds all the places that it
// leads to without text.
void gi_match_set_begin(struct gi_match_graph *graph);
void gi_match_set_add(struct gi_match_graph *graph, uint32_t node, uint32_t frame);
void gi_match_set_add_state(struct gi_match_graph *graph, uint32_t state);
uint32_t gi_match_set_end(struct gi_match_graph *graph);

// Computes where a state goes by the bytes of a class; see gi_match_step.
uint32_t gi_match_find_next(struct gi_match_graph *graph, uint32_t state, uint8_t byte_class);

// Returns where a state goes by a byte, GI_MATCH_DEAD if nowhere.
static inline uint32_t gi_match_step(struct gi_match_graph *graph, uint32_t state, uint8_t byte)
{
    const uint8_t byte_class = graph->grammar->class_of[byte];
    const uint32_t next = graph->states.data[state]->next[byte_class];
    return next == GI_MATCH_UNKNOWN ? gi_match_find_next(graph, state, byte_class) : next;
}
