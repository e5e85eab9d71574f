// Cuts a template into the texts between tags and the tokens within them. Removes white space as
// trim_blocks, lstrip_blocks and the signs at tags say. Private to this folder.
#pragma once

#include "jinja/jinja_string.h"

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
    struct gi_jinja_string text; // a string's value
    int64_t number;
};

struct gi_jinja_lexer {
    struct gi_jinja_pool *pool;
    struct gi_jinja_string source; // lives as long as the pool
    size_t at;
    enum gi_jinja_tag tag;
    int depth;                   // of brackets
    struct gi_jinja_token token; // the one that is looked at
    size_t counted;              // bytes whose newlines are in the pool's line
};

// Reads the text before the next tag and steps to the tag's first token, or over a whole comment.
enum gi_jinja_tag gi_jinja_next_tag(struct gi_jinja_lexer *lexer, struct gi_jinja_string *text);
// Steps to the next token of the tag.
void gi_jinja_advance(struct gi_jinja_lexer *lexer);
// Returns true if this name or sign follows the token.
bool gi_jinja_is_followed_by(const struct gi_jinja_lexer *lexer, const char *word);
// Fails with what was expected, what was found and the line.
void gi_jinja_expect_failed(struct gi_jinja_lexer *lexer, const char *expected);
