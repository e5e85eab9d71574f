// The text of a kernel as tokens and as statements at file level: what stage_source.c reads and
// writes by.
#ifndef GI_PERSISTENT_STAGE_TEXT_H
#define GI_PERSISTENT_STAGE_TEXT_H

#include "persistent/source/stage_scan.h"

enum gi_stage_token_kind {
    GI_STAGE_TOKEN_SPACE, // comments too
    GI_STAGE_TOKEN_LINE,  // of the preprocessor, without its newline
    GI_STAGE_TOKEN_WORD,
    GI_STAGE_TOKEN_NUMBER,
    GI_STAGE_TOKEN_SIGN, // one character
};

struct gi_stage_token {
    enum gi_stage_token_kind kind;
    const char *start;
    uint32_t size;
};

struct gi_stage_tokens {
    struct gi_stage_token *items;
    uint32_t count;
};

// Reads text[0..size), items owned by the caller. With has_lines a line that begins with # is one
// token, without it is read like any other text. Fails with NO_MEMORY.
bool gi_stage_read_tokens(const char *text, size_t size, bool has_lines,
                          struct gi_stage_tokens *tokens, struct glinfer_error *err);

bool gi_stage_is_blank(const struct gi_stage_token *token); // space or a line
bool gi_stage_is_sign(const struct gi_stage_token *token, char sign);
bool gi_stage_is_word(const struct gi_stage_token *token, const char *text);
struct gi_stage_word gi_stage_word_of(const struct gi_stage_token *token);
// The next token from `at` on, blanks left out; count if there is none.
uint32_t gi_stage_skip_blanks(const struct gi_stage_tokens *tokens, uint32_t at);

enum gi_stage_statement_kind {
    GI_STAGE_STATEMENT_DROPPED, // precision, the size of the group
    GI_STAGE_STATEMENT_STRUCT,
    GI_STAGE_STATEMENT_FUNCTION, // or its prototype
    GI_STAGE_STATEMENT_VARIABLE,
    GI_STAGE_STATEMENT_STORAGE,
    GI_STAGE_STATEMENT_PARAMS,
    GI_STAGE_STATEMENT_STATE,
    GI_STAGE_STATEMENT_OTHER_BLOCK,
};

// At file level: tokens first .. last.
struct gi_stage_statement {
    enum gi_stage_statement_kind kind;
    uint32_t first, last;
    uint32_t open, close; // of { }; 0: none
    uint32_t name;        // of what it declares: block, function, struct
};

// Takes the next statement from *at on; false at the end of the text. Skips blanks before it.
bool gi_stage_take_statement(const struct gi_stage_tokens *tokens, uint32_t *at,
                             struct gi_stage_statement *s);
// The first word of a statement's head that is `text`; 0: none, or the very first token.
uint32_t gi_stage_find_word(const struct gi_stage_tokens *tokens,
                            const struct gi_stage_statement *s, const char *text);

// A variable of a statement: its name, and the range of its initial value (begin = end: none).
struct gi_stage_declarator {
    uint32_t name, begin, end;
};

// Advances to the next declarator; starts with *at = 0. Returns false after the last one.
bool gi_stage_next_declarator(const struct gi_stage_tokens *tokens,
                              const struct gi_stage_statement *s, uint32_t *at,
                              struct gi_stage_declarator *d);

bool gi_stage_is_shared(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s);

// Fails with UNSUPPORTED: a stage cannot have this, and why.
bool gi_stage_refuse(struct gi_stage_word word, const char *why, struct glinfer_error *err);

#endif
