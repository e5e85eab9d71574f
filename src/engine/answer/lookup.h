// Prompt lookup: a draft of the tokens that come next, taken from what followed the end of the text
// where that stood before, and whether it pays to compute a draft in one batch. While nothing is
// computed by drafts they are compared with what steps give, which costs no GPU time; a draft is
// computed once measured times and the share of right tokens promise that it pays. Plain memory and
// numbers: nothing is allocated.
#ifndef GI_ENGINE_LOOKUP_H
#define GI_ENGINE_LOOKUP_H

#include "gpu/dispatch/step_state.h"

#include <stdbool.h>

#define GI_MAX_DRAFT            (GI_MAX_ROWS - 1) // tokens
#define GI_DEFAULT_LOOKUP_MATCH 3

// Holds what was measured on a session; zero: nothing yet.
struct gi_lookup_times {
    uint64_t step_ns;                  // of a step in long chains
    uint64_t rows_ns[GI_MAX_ROWS + 1]; // of a batch of a token and its draft, by their number
    uint32_t n_drafts;                 // that have run; times of the first ones say little
};

struct gi_lookup {
    uint32_t n_match;              // tokens at the end of the text that must have stood before
    uint32_t most;                 // tokens of a draft; 0: there are no drafts
    bool is_always;                // drafts are computed whether that pays or not
    struct gi_lookup_times *times; // borrowed
    uint32_t draft[GI_MAX_DRAFT];
    uint32_t n_draft, n_tested; // of the draft; steps gave the first n_tested of them
    uint32_t n_seen;            // drafted tokens that were compared
    float chance;               // that a drafted token is right, lately
    uint64_t spent_ns;          // time of the answer so far
    int64_t saved_ns;           // by drafts; the latest of it
    bool is_on;                 // drafts are computed where there are any
    uint32_t n_blank;           // times in a row that there was none
};

// Looks for the longest run of tokens at the end of text[0..n), of at least n_match, that stands in
// it before, the latest where several are as long. Writes what followed there, over the end of the
// text on and on, `most` tokens; returns how many: most, or 0 if there is no such run.
uint32_t gi_lookup_find(const uint32_t *text, uint32_t n, uint32_t n_match, uint32_t most,
                        uint32_t *draft);

// Begins an answer.
void gi_lookup_init(struct gi_lookup *lookup, struct gi_lookup_times *times, uint32_t n_match,
                    uint32_t most, bool is_always);
// Compares the last n_new of text[0..n), which steps gave, with drafts.
void gi_lookup_note(struct gi_lookup *lookup, const uint32_t *text, uint32_t n, uint32_t n_new);
// True if the next thing to do is to compute a draft: no more steps should be submitted.
bool gi_lookup_wants(const struct gi_lookup *lookup);
// Returns the tokens of lookup->draft that it pays to compute behind text[0..n), at most `most`; 0:
// steps come next.
uint32_t gi_lookup_choose(struct gi_lookup *lookup, const uint32_t *text, uint32_t n,
                          uint32_t most);

// Tell what has run: a batch of n_draft drafted tokens, the first n_right of which were right; a
// chain of steps, which nothing ran beside if is_alone. ns: how long it took; 0: not known.
void gi_lookup_learn_draft(struct gi_lookup *lookup, uint32_t n_draft, uint32_t n_right,
                           uint64_t ns);
void gi_lookup_learn_steps(struct gi_lookup *lookup, uint32_t n_steps, bool is_alone, uint64_t ns);

#endif
