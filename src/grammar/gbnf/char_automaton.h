// Turns sets of characters into automata over the bytes of their UTF-8, so that a character that is
// cut between two tokens is a state like any other. Automata of one owner share equal states: state
// numbers are equal exactly where the same bytes may follow.
#pragma once

#include "base/index.h"

#include <stdint.h>

// The code points from lo to hi.
struct gi_code_range {
    uint32_t lo, hi;
};

#define GI_CODE_MAX 0x10ffffu

// The bytes from lo to hi lead to target; 0: the character is complete.
struct gi_char_segment {
    uint8_t lo, hi;
    uint32_t target;
};

struct gi_char_state {
    uint32_t first, count; // in segments, sorted by byte
};

// Zero-initialised by its owner; freed with gi_char_automata_finish.
struct gi_char_automata {
    struct {
        struct gi_char_state *data; // state 0 is "complete" and has no segments
        size_t count, capacity;
    } states;
    struct {
        struct gi_char_segment *data;
        size_t count, capacity;
    } segments;
    struct gi_index index; // of states by their segments
};

void gi_char_automata_finish(struct gi_char_automata *automata);

// Sorts ranges, joins those that touch and takes surrogates out, which UTF-8 does not have. ranges
// has room for one more than count. Returns how many are left.
size_t gi_code_ranges_normalise(struct gi_code_range *ranges, size_t count);

// Writes the characters outside the count normalised ranges to out, which has room for
// count + 2; these are normalised too. Returns how many.
size_t gi_code_ranges_invert(const struct gi_code_range *ranges, size_t count,
                             struct gi_code_range *out);

// Sets *state to the one before the first byte of a character of the normalised ranges, of which
// there is at least one. Fails with NO_MEMORY.
bool gi_char_automata_add(struct gi_char_automata *automata, const struct gi_code_range *ranges,
                          size_t count, uint32_t *state, struct glinfer_error *err);

#define GI_CHAR_REFUSED UINT32_MAX

// Returns the state after a byte: 0 if the character is complete, GI_CHAR_REFUSED if the byte fits
// none.
uint32_t gi_char_automata_step(const struct gi_char_automata *automata, uint32_t state,
                               uint8_t byte);
