// The texts that the grammar of a task allows, and the calls that are read from texts.
#pragma once

#include "cli/serve/calls/serve_styles.h"
#include "glinfer.h"
#include "grammar/grammar_matcher.h"

#include <stdbool.h>

struct call_language {
    struct gi_grammar *grammar;
    struct gi_grammar_matcher *matcher;
};

// Reads a grammar, without a vocabulary: control tokens are text.
void call_language_open(struct call_language *language, const struct glinfer_grammar *grammar);
void call_language_close(struct call_language *language);
// Returns true if the grammar allows a text.
bool call_language_has(struct call_language *language, const char *text);
// Writes a text that the grammar allows, of bytes chosen by chance: the longer the text, the sooner
// bytes and the mark (NULL: none) that close something. Fails the test at a dead end and above size
// bytes.
void call_language_walk(struct call_language *language, const char *mark, unsigned *seed,
                        char *text, size_t size);

// Returns the name or the arguments of a call.
const char *call_member(const cJSON *call, const char *name);
// Checks the calls that are read from every beginning of a text: they only grow, up to those of
// the whole text.
void call_expect_growth(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        const cJSON *whole);
