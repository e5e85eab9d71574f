// Tokens that stand for themselves in a text: control tokens, unknown, user-defined. Finds them in
// texts, and knows which of a vocabulary's tokens end an answer.
#pragma once

#include "tokenizer/sorted_texts.h"
#include "tokenizer/text_map.h"

#define GI_STOP_IDS_MAX 16

struct gi_special {
    const struct gi_text_list *texts;  // borrowed
    const uint8_t *types;              // borrowed
    struct gi_sorted_texts sorted;     // the special ones
    int32_t stop_ids[GI_STOP_IDS_MAX]; // sorted
    size_t n_stop_ids;
    bool is_trimming; // see gi_special_trims_after; set by the owner
};

// Corrects types (one a token) by what some tokens are known to be, then takes the special ones.
// texts and types must live as long as special. ends are n_ends ids that end an answer, or none (<
// 0). Fails with NO_MEMORY.
bool gi_special_init(struct gi_special *special, const struct gi_text_list *texts,
                     const struct gi_text_map *text_to_id, uint8_t *types, const int32_t *ends,
                     size_t n_ends, struct glinfer_error *err);
// Takes the tokens that is_found marks (one byte a token) instead of those that types make special;
// keeps the ids that end an answer. Fails with NO_MEMORY.
bool gi_special_init_found(struct gi_special *special, const struct gi_text_list *texts,
                           const uint8_t *types, const uint8_t *is_found,
                           struct glinfer_error *err);
void gi_special_finish(struct gi_special *special);

// Adds a token that ends an answer, if there is room.
void gi_special_add_stop(struct gi_special *special, int32_t id);

// Returns true if the white space after this special token is skipped, as in Phi-3.
bool gi_special_trims_after(const struct gi_special *special, int32_t id);

struct gi_special_match {
    size_t offset, size; // in the text
    size_t control_end;  // control and unknown tokens end there or before
    size_t mark_end;     // user-defined tokens that look like marks, such as <think>, do so, too
    int32_t id;
};

// Zero-initialised; data is freed by the owner.
struct gi_special_matches {
    struct gi_special_match *data;
    size_t count, capacity;
};

// Appends the longest special token that text has at the offset of match, if there is one within
// the ends of match. Other user-defined tokens, such as white space, have no end. Fails with
// NO_MEMORY.
bool gi_special_find_at(const struct gi_special *special, struct gi_text text,
                        struct gi_special_match match, struct gi_special_matches *matches,
                        struct glinfer_error *err);

// Replaces the matches, one for each offset of text where there is any, by the tokens that remain
// when of all in the text longer ones are taken before shorter and earlier before later; sorts them
// by offset. Fails with NO_MEMORY.
bool gi_special_resolve(const struct gi_special *special, struct gi_text text,
                        struct gi_special_matches *matches, struct glinfer_error *err);
