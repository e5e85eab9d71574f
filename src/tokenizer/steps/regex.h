// Regular expressions over valid UTF-8, compiled by PCRE2, whose types stay here. An expression is
// immutable and may be used by several threads, each with a matcher of its own.
#pragma once

#include "tokenizer/tokenizer.h"

struct gi_regex;

enum gi_regex_origin {
    GI_REGEX_OURS,      // ^ and $ are the ends of the text
    GI_REGEX_OF_A_FILE, // ^ and $ are the ends of lines; \C is refused
};

// Compiles an expression; name is for messages. Fails with UNSUPPORTED (PCRE2's reason and the
// byte), NO_MEMORY.
struct gi_regex *gi_regex_create(struct gi_text expression, enum gi_regex_origin origin,
                                 const char *name, struct glinfer_error *err);
// Accepts NULL.
void gi_regex_destroy(struct gi_regex *regex);

// Memory for one search at a time; zero-initialised.
struct gi_matcher {
    void *memory, *data, *context; // PCRE2's
};

// Fails with NO_MEMORY. The steps and the memory of a search are bounded for GI_REGEX_OF_A_FILE.
bool gi_matcher_init(struct gi_matcher *matcher, enum gi_regex_origin origin,
                     struct glinfer_error *err);
// Accepts all-zero.
void gi_matcher_finish(struct gi_matcher *matcher);

struct gi_span {
    size_t begin, end; // bytes of the text
};

// Finds the first match from start on; *found is false without one. Fails with NO_MEMORY,
// UNSUPPORTED (a search of a file's expression takes too many steps).
bool gi_regex_find(const struct gi_regex *regex, const struct gi_matcher *matcher,
                   struct gi_text text, size_t start, struct gi_span *span, bool *found,
                   struct glinfer_error *err);
