#include "persistent/source/stage_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

//-- tokens ----------------------------------------------------------------------------------------

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// A line of the preprocessor ends before its newline.
static size_t measure_space(const char *text, bool is_line)
{
    const char *at = text;
    for (;;) {
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '\\' && at[1] == '\n') {
            at += 2;
        } else if (isspace((unsigned char)*at) && !(is_line && *at == '\n')) {
            at++;
        } else {
            return (size_t)(at - text);
        }
    }
}

static struct gi_stage_token read_token(const char *text, bool is_line)
{
    size_t size = measure_space(text, is_line);
    if (size > 0) {
        return (struct gi_stage_token){
            .kind = GI_STAGE_TOKEN_SPACE, .is_line = is_line, .word = {text, (uint32_t)size}};
    }
    const bool is_number =
        isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1]));
    while (is_word_char(text[size]) || (is_number && text[size] == '.')) {
        size++;
    }
    const enum gi_stage_token_kind kind = size == 0   ? GI_STAGE_TOKEN_SIGN
                                          : is_number ? GI_STAGE_TOKEN_NUMBER
                                                      : GI_STAGE_TOKEN_WORD;
    return (struct gi_stage_token){
        .kind = kind, .is_line = is_line, .word = {text, size > 0 ? (uint32_t)size : 1}};
}

bool gi_stage_read_tokens(const char *text, struct gi_stage_tokens *tokens,
                          struct glinfer_error *err)
{
    const size_t size = (strlen(text) + 1) * sizeof(tokens->items[0]);
    bool is_line = false;
    *tokens = (struct gi_stage_tokens){.items = malloc(size)};
    if (!tokens->items) {
        return gi_error_no_memory(err, size, "a stage's text");
    }
    while (*text) {
        is_line = is_line ? *text != '\n' : *text == '#';
        tokens->items[tokens->count] = read_token(text, is_line);
        text += tokens->items[tokens->count++].word.size;
    }
    tokens->items[tokens->count] =
        (struct gi_stage_token){.kind = GI_STAGE_TOKEN_SIGN, .word = {text, 0}};
    return true;
}

bool gi_stage_word_is(struct gi_stage_word word, const char *text)
{
    return strlen(text) == word.size && memcmp(word.start, text, word.size) == 0;
}

bool gi_stage_is_equal(struct gi_stage_word a, struct gi_stage_word b)
{
    return a.size == b.size && memcmp(a.start, b.start, a.size) == 0;
}

bool gi_stage_is_sign(const struct gi_stage_tokens *tokens, uint32_t at, char sign)
{
    const struct gi_stage_token *token = &tokens->items[at];
    return token->kind == GI_STAGE_TOKEN_SIGN && *token->word.start == sign;
}

bool gi_stage_is_word(const struct gi_stage_tokens *tokens, uint32_t at, const char *text)
{
    return gi_stage_word_is(tokens->items[at].word, text);
}

uint32_t gi_stage_skip(const struct gi_stage_tokens *tokens, uint32_t at)
{
    while (at < tokens->count &&
           (tokens->items[at].kind == GI_STAGE_TOKEN_SPACE || tokens->items[at].is_line)) {
        at++;
    }
    return at < tokens->count ? at : tokens->count;
}

//-- statements ------------------------------------------------------------------------------------

// Reads layout(...) from `at` on. Returns its last token.
static uint32_t read_layout(const struct gi_stage_tokens *tokens, uint32_t at, uint32_t *binding)
{
    bool is_binding = false;
    while (at < tokens->count && !gi_stage_is_sign(tokens, at, ')')) {
        is_binding = is_binding || gi_stage_is_word(tokens, at, "binding");
        if (is_binding && tokens->items[at].kind == GI_STAGE_TOKEN_NUMBER) {
            *binding = (uint32_t)strtoul(tokens->items[at].word.start, NULL, 10);
        }
        at++;
    }
    return at;
}

// Reads up to the first of ( [ = , ; { at file level: the name is the word before it.
static void read_head(const struct gi_stage_tokens *tokens, struct gi_stage_statement *s)
{
    bool is_storage = false;
    uint32_t at = s->first;
    for (; at < tokens->count; at = gi_stage_skip(tokens, at + 1)) {
        if (gi_stage_is_word(tokens, at, "layout")) {
            at = read_layout(tokens, at, &s->binding);
        } else if (tokens->items[at].kind == GI_STAGE_TOKEN_SIGN) {
            break;
        } else {
            is_storage = is_storage || gi_stage_is_word(tokens, at, "buffer");
            s->name = at;
        }
    }
    const bool is_block = gi_stage_is_sign(tokens, at, '{');
    if (gi_stage_is_word(tokens, s->first, "precision") ||
        gi_stage_is_word(tokens, s->name, "in")) {
        s->kind = GI_STAGE_STATEMENT_DROPPED;
    } else if (gi_stage_is_word(tokens, s->first, "struct")) {
        s->kind = GI_STAGE_STATEMENT_STRUCT;
    } else if (is_block) {
        s->kind = gi_stage_is_word(tokens, s->name, "StepState") ? GI_STAGE_STATEMENT_STATE
                  : gi_stage_is_word(tokens, s->name, "Params")  ? GI_STAGE_STATEMENT_PARAMS
                  : is_storage                                   ? GI_STAGE_STATEMENT_STORAGE
                                                                 : GI_STAGE_STATEMENT_DROPPED;
    } else if (gi_stage_is_sign(tokens, at, '(')) {
        s->kind = GI_STAGE_STATEMENT_FUNCTION;
    } else {
        s->kind = gi_stage_is_word(tokens, s->first, "shared") ? GI_STAGE_STATEMENT_SHARED
                                                               : GI_STAGE_STATEMENT_VARIABLE;
    }
}

// Finds the end of a statement: the ; or the } of a function's body.
static void find_end(const struct gi_stage_tokens *tokens, struct gi_stage_statement *s)
{
    int depth = 0;
    for (s->last = s->first; s->last + 1 < tokens->count; s->last++) {
        if (tokens->items[s->last].is_line) {
            continue;
        }
        if (gi_stage_is_sign(tokens, s->last, '{') && depth++ == 0) {
            s->open = s->last;
        } else if (gi_stage_is_sign(tokens, s->last, '}') && --depth == 0) {
            s->close = s->last;
            if (s->kind == GI_STAGE_STATEMENT_FUNCTION) {
                return;
            }
        } else if (gi_stage_is_sign(tokens, s->last, ';') && depth == 0) {
            return;
        }
    }
}

bool gi_stage_take_statement(const struct gi_stage_tokens *tokens, uint32_t *at,
                             struct gi_stage_statement *s)
{
    *s = (struct gi_stage_statement){.first = gi_stage_skip(tokens, *at)};
    if (s->first == tokens->count) {
        return false;
    }
    read_head(tokens, s);
    find_end(tokens, s);
    *at = s->last + 1;
    return true;
}

bool gi_stage_next_declarator(const struct gi_stage_tokens *tokens,
                              const struct gi_stage_statement *s, struct gi_stage_declarator *d)
{
    int depth = 0;
    uint32_t at = d->end ? gi_stage_skip(tokens, d->end + 1) : s->name;
    *d = (struct gi_stage_declarator){.name = at};
    for (; at <= s->last; at++) {
        depth += gi_stage_is_sign(tokens, at, '(') || gi_stage_is_sign(tokens, at, '[');
        depth -= gi_stage_is_sign(tokens, at, ')') || gi_stage_is_sign(tokens, at, ']');
        if (depth == 0 &&
            (gi_stage_is_sign(tokens, at, ',') || gi_stage_is_sign(tokens, at, ';'))) {
            d->end = at;
            d->begin = d->begin ? d->begin : at;
            return true;
        }
        if (depth == 0 && gi_stage_is_sign(tokens, at, '=') && d->begin == 0) {
            d->begin = at + 1;
        }
    }
    return false;
}
