// The steps that a tokenizer.json takes a text through before its model: normalise it, cut it into
// pieces, change the pieces. A step is three texts: its name, an expression, a text; the last two
// are empty where the step takes none.
//
// | name | does to each piece |
// |---|---|
// | nfc, nfd, nfkc, nfkd, lowercase | Unicode's normal forms; lower case |
// | charsmap | replaces graphemes by tokenizer.ggml.precompiled_charsmap |
// | prepend | puts the text before a piece that is not empty |
// | prefix; prefix_first | as prepend, unless the piece begins with it; at the start of all alone |
// | replace | replaces what the expression matches by the text |
// | surround | puts the text on both sides of what the expression matches |
// | isolate | cuts before and after each match |
// | remove; keep | leaves out the matches; all but the matches |
// | with_previous, with_next | cuts after each match; before |
// | but_with_previous, but_with_next | cuts after each text between matches; before |
// | contiguous | as isolate, and joins matches that follow each other |
// | added_tokens | nothing: added tokens are found in the text as it is here, steps/rules.h |
#pragma once

#include "tokenizer/steps/unicode_form.h"
#include "tokenizer/vocab/charsmap.h"
#include "tokenizer/vocab/pretokenizer.h"

#define GI_STEPS_MAX      64
#define GI_STEP_SIZE_MAX  65536 // bytes of an expression or a text
#define GI_TEXTS_PER_STEP 3

struct gi_steps;

// Takes n_texts, three a step, and copies them. Fails with UNSUPPORTED (an unknown step, named; an
// expression that PCRE2 cannot compile; too many or too long ones), BAD_FILE (the charsmap),
// NO_MEMORY.
struct gi_steps *gi_steps_create(const struct gi_text *texts, size_t n_texts,
                                 struct gi_text charsmap, struct glinfer_error *err);
// Accepts NULL.
void gi_steps_destroy(struct gi_steps *steps);

// Returns the number of steps; sets *marker to the index of added_tokens, without it to 0.
size_t gi_steps_count(const struct gi_steps *steps, size_t *marker);

// A text in pieces. Zero-initialised, freed with gi_cut_finish.
struct gi_cut {
    struct gi_bytes bytes;
    struct gi_word_ends ends; // of the pieces, none of which is empty
};
void gi_cut_finish(struct gi_cut *cut);

// Makes a text, valid UTF-8, the only piece of cut, and takes it through steps [begin, end).
// is_first: it is the start of all that is encoded. Fails with NO_MEMORY, UNSUPPORTED (as
// gi_regex_find; a step makes the text many times longer).
bool gi_steps_run(const struct gi_steps *steps, size_t begin, size_t end, struct gi_text text,
                  bool is_first, struct gi_cut *cut, struct glinfer_error *err);
