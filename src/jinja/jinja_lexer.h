// A template's text cut into what stands between tags, and the tokens within them. White space goes
// as trim_blocks, lstrip_blocks and the signs at tags say. Private to this folder.
#ifndef GI_JINJA_JINJA_LEXER_H
#define GI_JINJA_JINJA_LEXER_H

#include "jinja/jinja_value.h"

enum gi_jinja_tag {
    GI_JINJA_TAG_NONE, // the end of the template
    GI_JINJA_TAG_PRINT,
    GI_JINJA_TAG_STATEMENT,
    GI_JINJA_TAG_COMMENT,
};

enum gi_jinja_token_kind {
    GI_JINJA_TOKEN_END, // of the tag
    GI_JINJA_TOKEN_NAME,
    GI_JINJA_TOKEN_STRING,
    GI_JINJA_TOKEN_INT,
    GI_JINJA_TOKEN_SIGN, // an operator or a bracket
};

struct gi_jinja_token {
    enum gi_jinja_token_kind kind;
    struct gi_jinja_string text; // of a string its value
    int64_t number;
};

struct gi_jinja_lexer {
    struct gi_jinja_pool *pool;
    struct gi_jinja_string source; // lives as long as the pool
    size_t at;
    enum gi_jinja_tag tag;
    int depth;                   // of brackets
    struct gi_jinja_token token; // the one that is looked at
    size_t counted;              // bytes whose newlines are
    unsigned n_newlines;
};

// Reads what comes before the next tag and steps to the tag's first token; a comment is stepped over
// whole.
enum gi_jinja_tag gi_jinja_next_tag(struct gi_jinja_lexer *lexer, struct gi_jinja_string *text);
// Steps to the next token of the tag.
void gi_jinja_advance(struct gi_jinja_lexer *lexer);
unsigned gi_jinja_line(struct gi_jinja_lexer *lexer);
// Fails with what was expected and the line.
void gi_jinja_expect_failed(struct gi_jinja_lexer *lexer, const char *expected);

#endif
