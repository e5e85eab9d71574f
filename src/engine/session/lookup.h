// Prompt lookup: finds earlier occurrences of the end of the text, drafts the tokens that followed
// there, and decides whether computing a draft as one batch is faster than steps. While drafts are
// off, they are only compared with the tokens of steps, which costs no GPU time; they are turned on
// once measured times and the rate of right tokens predict a gain. Plain memory and numbers, no
// allocation.
#pragma once

#include "gpu/dispatch/step_state.h"

#include <stdbool.h>

#define GI_MAX_DRAFT            (GI_MAX_ROWS - 1) // tokens
#define GI_DEFAULT_LOOKUP_MATCH 3

// Times measured on a session; all-zero: none yet.
struct gi_lookup_times {
    uint64_t step_ns;                  // time of a step in long chains
    uint64_t rows_ns[GI_MAX_ROWS + 1]; // time of a batch of a token and its draft, by size
    uint32_t n_drafts;                 // drafts that have run; the first times are ignored
};

struct gi_lookup {
    uint32_t n_match;              // minimum length of a match, in tokens
    uint32_t most;                 // maximum tokens of a draft; 0: no drafts
    bool is_always;                // drafts are computed even if steps are faster
    struct gi_lookup_times *times; // borrowed
    uint32_t draft[GI_MAX_DRAFT];
    uint32_t n_draft, n_tested; // tokens of the draft; the first n_tested were compared
    uint32_t n_seen;            // number of drafted tokens that were compared
    float chance;               // recent probability that a drafted token is right
    uint64_t spent_ns;          // time of the answer so far
    int64_t saved_ns;           // time recently saved by drafts
    bool is_on;                 // drafts are computed
    uint32_t n_blank;           // number of consecutive lookups without a draft
};

// Finds the longest earlier occurrence of the end of text[0..n), of at least n_match tokens, and of
// several the latest. Copies the `most` tokens that follow it to draft, repeating if they reach the
// end of the text. Returns most, or 0 if there is no match.
uint32_t gi_lookup_find(const uint32_t *text, uint32_t n, uint32_t n_match, uint32_t most,
                        uint32_t *draft);

// Begins an answer; see struct gi_lookup for the arguments.
void gi_lookup_init(struct gi_lookup *lookup, struct gi_lookup_times *times, uint32_t n_match,
                    uint32_t most, bool is_always);
// Compares the last n_new tokens of text[0..n), which steps computed, with drafts.
void gi_lookup_note(struct gi_lookup *lookup, const uint32_t *text, uint32_t n, uint32_t n_new);
// Returns true if a draft comes next: no more steps should be submitted.
bool gi_lookup_wants(const struct gi_lookup *lookup);
// Returns the number of tokens of lookup->draft, at most `most`, to compute after text[0..n); 0:
// steps come next.
uint32_t gi_lookup_choose(struct gi_lookup *lookup, const uint32_t *text, uint32_t n,
                          uint32_t most);

// Record results: a batch of n_draft drafted tokens of which the first n_right were right; a chain
// of steps, with is_alone if nothing else ran. ns: its duration; 0: unknown.
void gi_lookup_learn_draft(struct gi_lookup *lookup, uint32_t n_draft, uint32_t n_right,
                           uint64_t ns);
void gi_lookup_learn_steps(struct gi_lookup *lookup, uint32_t n_steps, bool is_alone, uint64_t ns);
