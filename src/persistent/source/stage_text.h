// A kernel's text as tokens, and as statements at file level. It knows the GLSL of glsl/, no more:
// one declaration a statement at file level, blocks of one array, no /* */ comments.
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

// A word of the text that is read; not ended by 0.
struct gi_stage_word {
    const char *start;
    uint32_t size;
};

// The arguments of a %.*s.
#define GI_STAGE_TEXT(word) (int)(word).size, (word).start

enum gi_stage_token_kind {
    GI_STAGE_TOKEN_SPACE, // comments too
    GI_STAGE_TOKEN_WORD,
    GI_STAGE_TOKEN_NUMBER,
    GI_STAGE_TOKEN_SIGN, // one character
};

struct gi_stage_token {
    enum gi_stage_token_kind kind;
    bool is_line;  // in a line of the preprocessor, without its newline
    bool is_close; // ] of a storage array
    struct gi_stage_word word;
};

struct gi_stage_tokens {
    struct gi_stage_token *items; // owned; followed by an empty sign
    uint32_t count;
};

// Fails with NO_MEMORY.
bool gi_stage_read_tokens(const char *text, struct gi_stage_tokens *tokens,
                          struct glinfer_error *err);

bool gi_stage_word_is(struct gi_stage_word word, const char *text);
bool gi_stage_is_equal(struct gi_stage_word a, struct gi_stage_word b);
bool gi_stage_is_sign(const struct gi_stage_tokens *tokens, uint32_t at, char sign);
bool gi_stage_is_word(const struct gi_stage_tokens *tokens, uint32_t at, const char *text);
// Returns the first token from `at` that is neither a space nor in a line of the preprocessor;
// count if only such tokens follow.
uint32_t gi_stage_skip(const struct gi_stage_tokens *tokens, uint32_t at);

enum gi_stage_statement_kind {
    GI_STAGE_STATEMENT_DROPPED, // precision, the size of the group, other blocks
    GI_STAGE_STATEMENT_STRUCT,
    GI_STAGE_STATEMENT_FUNCTION, // or its prototype
    GI_STAGE_STATEMENT_VARIABLE,
    GI_STAGE_STATEMENT_SHARED,
    GI_STAGE_STATEMENT_STORAGE,
    GI_STAGE_STATEMENT_PARAMS,
    GI_STAGE_STATEMENT_STATE,
};

// At file level: tokens first .. last.
struct gi_stage_statement {
    enum gi_stage_statement_kind kind;
    uint32_t first, last;
    uint32_t open, close; // of { }; 0: none
    uint32_t name;        // of the block, function, struct or first variable
    uint32_t binding;     // of its layout
};

// Takes the next statement from *at on, which skips blanks; false at the end of the text.
bool gi_stage_take_statement(const struct gi_stage_tokens *tokens, uint32_t *at,
                             struct gi_stage_statement *s);

// A variable of a statement: its name, and the range of its initial value (begin = end: none).
struct gi_stage_declarator {
    uint32_t name, begin, end;
};

// Advances to the next declarator; starts with *d all-zero. Returns false after the last one.
bool gi_stage_next_declarator(const struct gi_stage_tokens *tokens,
                              const struct gi_stage_statement *s, struct gi_stage_declarator *d);
