#include "persistent/source/stage_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

//-- tokens ----------------------------------------------------------------------------------------

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t measure_space(const char *text, const char *end)
{
    const char *at = text;
    while (at < end) {
        const char *rest = at;
        if (at + 1 < end && at[0] == '/' && at[1] == '/') {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            at = newline ? newline : end;
        } else if (at + 1 < end && at[0] == '\\' && at[1] == '\n') {
            at += 2;
        } else if (isspace((unsigned char)*at)) {
            at++;
        }
        if (at == rest) {
            break;
        }
    }
    return (size_t)(at - text);
}

// A line of the preprocessor with those that it continues on.
static size_t measure_line(const char *text, const char *end)
{
    const char *at = text;
    while (at < end && (*at != '\n' || at[-1] == '\\')) {
        at++;
    }
    return (size_t)(at - text);
}

static struct gi_stage_token read_token(const char *text, const char *end, bool has_lines)
{
    struct gi_stage_token token = {GI_STAGE_TOKEN_SIGN, text, 1};
    const char *at = text;
    size_t space = measure_space(text, end);
    if (space > 0) {
        return (struct gi_stage_token){GI_STAGE_TOKEN_SPACE, text, (uint32_t)space};
    }
    if (has_lines && *text == '#') {
        return (struct gi_stage_token){GI_STAGE_TOKEN_LINE, text,
                                       (uint32_t)measure_line(text, end)};
    }
    bool is_number = isdigit((unsigned char)*at) ||
                     (*at == '.' && at + 1 < end && isdigit((unsigned char)at[1]));
    if (is_number || is_word_char(*at)) {
        while (at < end && (is_word_char(*at) || (is_number && *at == '.'))) {
            at++;
        }
        token.kind = is_number ? GI_STAGE_TOKEN_NUMBER : GI_STAGE_TOKEN_WORD;
        token.size = (uint32_t)(at - text);
    }
    return token;
}

bool gi_stage_read_tokens(const char *text, size_t size, bool has_lines,
                          struct gi_stage_tokens *tokens, struct glinfer_error *err)
{
    const char *end = text + size;
    tokens->count = 0;
    tokens->items = malloc((size + 1) * sizeof(tokens->items[0]));
    if (!tokens->items) {
        return gi_error_no_memory(err, (size + 1) * sizeof(tokens->items[0]), "a stage's text");
    }
    while (text < end) {
        struct gi_stage_token token = read_token(text, end, has_lines);
        tokens->items[tokens->count++] = token;
        text += token.size;
    }
    return true;
}

bool gi_stage_is_blank(const struct gi_stage_token *token)
{
    return token->kind == GI_STAGE_TOKEN_SPACE || token->kind == GI_STAGE_TOKEN_LINE;
}

bool gi_stage_is_sign(const struct gi_stage_token *token, char sign)
{
    return token->kind == GI_STAGE_TOKEN_SIGN && *token->start == sign;
}

struct gi_stage_word gi_stage_word_of(const struct gi_stage_token *token)
{
    return (struct gi_stage_word){token->start, token->size};
}

bool gi_stage_word_is(struct gi_stage_word word, const char *text)
{
    return strlen(text) == word.size && memcmp(word.start, text, word.size) == 0;
}

bool gi_stage_is_word(const struct gi_stage_token *token, const char *text)
{
    return token->kind == GI_STAGE_TOKEN_WORD && gi_stage_word_is(gi_stage_word_of(token), text);
}

bool gi_stage_is_equal(struct gi_stage_word a, struct gi_stage_word b)
{
    return a.size == b.size && memcmp(a.start, b.start, a.size) == 0;
}

uint32_t gi_stage_skip_blanks(const struct gi_stage_tokens *tokens, uint32_t at)
{
    while (at < tokens->count && gi_stage_is_blank(&tokens->items[at])) {
        at++;
    }
    return at;
}

//-- statements ------------------------------------------------------------------------------------

// Finds a statement's end: the ; or the } of a function's body.
static void find_end(const struct gi_stage_tokens *tokens, struct gi_stage_statement *s)
{
    int braces = 0;
    bool is_body = false;
    const struct gi_stage_token *before = NULL;
    for (s->last = s->first; s->last < tokens->count; s->last++) {
        const struct gi_stage_token *token = &tokens->items[s->last];
        if (gi_stage_is_blank(token)) {
            continue;
        }
        if (gi_stage_is_sign(token, '{') && braces++ == 0) {
            s->open = s->last;
            is_body = before && gi_stage_is_sign(before, ')');
        } else if (gi_stage_is_sign(token, '}') && --braces == 0) {
            s->close = s->last;
            if (is_body) {
                s->kind = GI_STAGE_STATEMENT_FUNCTION;
                return;
            }
        } else if (gi_stage_is_sign(token, ';') && braces == 0) {
            return;
        }
        before = token;
    }
    s->last = tokens->count - 1;
}

uint32_t gi_stage_find_word(const struct gi_stage_tokens *tokens,
                            const struct gi_stage_statement *s, const char *text)
{
    uint32_t end = s->open ? s->open : s->last;
    for (uint32_t i = s->first; i < end; i++) {
        if (gi_stage_is_word(&tokens->items[i], text)) {
            return i;
        }
    }
    return 0;
}

// Past layout(...), if it stands there.
static uint32_t skip_layout(const struct gi_stage_tokens *tokens, uint32_t at)
{
    if (!gi_stage_is_word(&tokens->items[at], "layout")) {
        return at;
    }
    while (at < tokens->count && !gi_stage_is_sign(&tokens->items[at], ')')) {
        at++;
    }
    return gi_stage_skip_blanks(tokens, at + 1);
}

// The last word before `end`.
static uint32_t word_before(const struct gi_stage_tokens *tokens, uint32_t end)
{
    do {
        end--;
    } while (end > 0 && gi_stage_is_blank(&tokens->items[end]));
    return end;
}

static void classify_block(const struct gi_stage_tokens *tokens, struct gi_stage_statement *s)
{
    s->name = word_before(tokens, s->open);
    const struct gi_stage_token *name = &tokens->items[s->name];
    s->kind = gi_stage_is_word(name, "StepState")            ? GI_STAGE_STATEMENT_STATE
              : gi_stage_is_word(name, "Params")             ? GI_STAGE_STATEMENT_PARAMS
              : gi_stage_find_word(tokens, s, "buffer") != 0 ? GI_STAGE_STATEMENT_STORAGE
                                                             : GI_STAGE_STATEMENT_OTHER_BLOCK;
}

// Variables and functions: the name is the word before the first of ( [ = , ; at file level.
static void classify_declaration(const struct gi_stage_tokens *tokens, struct gi_stage_statement *s)
{
    uint32_t before = s->first;
    for (uint32_t i = skip_layout(tokens, s->first); i <= s->last; i++) {
        const struct gi_stage_token *token = &tokens->items[i];
        if (token->kind == GI_STAGE_TOKEN_SIGN && strchr("([=,;", *token->start)) {
            s->kind = gi_stage_is_sign(token, '(') ? GI_STAGE_STATEMENT_FUNCTION
                                                   : GI_STAGE_STATEMENT_VARIABLE;
            s->name = before;
            return;
        }
        before = gi_stage_is_blank(token) ? before : i;
    }
    s->kind = GI_STAGE_STATEMENT_DROPPED;
}

bool gi_stage_take_statement(const struct gi_stage_tokens *tokens, uint32_t *at,
                             struct gi_stage_statement *s)
{
    *s = (struct gi_stage_statement){.first = gi_stage_skip_blanks(tokens, *at)};
    if (s->first == tokens->count) {
        return false;
    }
    const struct gi_stage_token *first = &tokens->items[s->first];
    find_end(tokens, s);
    *at = s->last + 1;
    if (gi_stage_is_word(first, "precision") ||
        gi_stage_find_word(tokens, s, "local_size_x") != 0) {
        s->kind = GI_STAGE_STATEMENT_DROPPED;
    } else if (s->open != 0 && s->kind != GI_STAGE_STATEMENT_FUNCTION) {
        if (gi_stage_is_word(first, "struct")) {
            s->kind = GI_STAGE_STATEMENT_STRUCT;
            s->name = word_before(tokens, s->open);
        } else {
            classify_block(tokens, s);
        }
    } else {
        classify_declaration(tokens, s);
    }
    return true;
}

bool gi_stage_next_declarator(const struct gi_stage_tokens *tokens,
                              const struct gi_stage_statement *s, uint32_t *at,
                              struct gi_stage_declarator *d)
{
    int depth = 0;
    uint32_t i = *at ? gi_stage_skip_blanks(tokens, *at) : s->name;
    if (i > s->last) {
        return false;
    }
    *d = (struct gi_stage_declarator){.name = i};
    for (i++; i <= s->last; i++) {
        const struct gi_stage_token *token = &tokens->items[i];
        depth += gi_stage_is_sign(token, '(') || gi_stage_is_sign(token, '[');
        depth -= gi_stage_is_sign(token, ')') || gi_stage_is_sign(token, ']');
        if (depth == 0 && (gi_stage_is_sign(token, ',') || gi_stage_is_sign(token, ';'))) {
            d->end = i;
            d->begin = d->begin ? d->begin : i;
            break;
        }
        if (depth == 0 && gi_stage_is_sign(token, '=') && d->begin == 0) {
            d->begin = i + 1;
        }
    }
    *at = i + 1;
    return true;
}

bool gi_stage_is_shared(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s)
{
    return gi_stage_is_word(&tokens->items[s->first], "shared");
}

bool gi_stage_refuse(struct gi_stage_word word, const char *why, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "cannot be part of one dispatch, for its %.*s: %s", GI_STAGE_TEXT(word),
                        why);
}
