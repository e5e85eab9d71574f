// A query and a text, as a reranker reads them: the file's template for both.
#pragma once

#include "tokenizer/tokenizer.h"

struct gi_pair_template {
    char *bytes;                           // NULL: the file has none, or a broken one
    struct gi_text before, between, after; // the two names, in bytes
    bool is_text_first;                    // true if {document} stands before {query}
    bool is_broken;                        // true if it does not have both once
};

// Copies a file's template; an empty one counts as missing. A broken one does not fail, since the
// vocabulary serves all but pairs. Fails with NO_MEMORY.
bool gi_pair_template_init(struct gi_pair_template *pair, struct gi_text file,
                           struct glinfer_error *err);
void gi_pair_template_finish(struct gi_pair_template *pair);
