#include "persistent/source/stage_scan.h"

#include "persistent/source/stage_text.h"

#include <stdlib.h>
#include <string.h>

static bool add_global(struct gi_stage_symbols *symbols, struct gi_stage_word word,
                       struct glinfer_error *err)
{
    for (uint32_t i = 0; i < symbols->n_globals; i++) {
        if (gi_stage_is_equal(symbols->globals[i], word)) {
            return true;
        }
    }
    if (symbols->n_globals == GI_STAGE_MAX_GLOBALS) {
        return gi_stage_refuse(word, "too many names", err);
    }
    symbols->globals[symbols->n_globals++] = word;
    return true;
}

// Returns the number after "binding =" in a layout.
static uint32_t binding_of(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s)
{
    const uint32_t word = gi_stage_find_word(tokens, s, "binding");
    const uint32_t equals = gi_stage_skip_blanks(tokens, word + 1);
    return (uint32_t)strtoul(tokens->items[gi_stage_skip_blanks(tokens, equals + 1)].start, NULL,
                             10);
}

// buffer Name { type array[]; };
static bool scan_storage(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s,
                         struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    const uint32_t type = gi_stage_skip_blanks(tokens, s->open + 1);
    const uint32_t array = gi_stage_skip_blanks(tokens, type + 1);
    const struct gi_stage_word name = gi_stage_word_of(&tokens->items[s->name]);
    if (symbols->n_blocks == GI_STAGE_MAX_BLOCKS) {
        return gi_stage_refuse(name, "too many storage blocks", err);
    }
    uint32_t at = gi_stage_skip_blanks(tokens, array + 1);
    for (const char *sign = "[];}"; *sign; sign++) {
        if (!gi_stage_is_sign(&tokens->items[at], *sign)) {
            return gi_stage_refuse(name, "a storage block of other than one array", err);
        }
        at = gi_stage_skip_blanks(tokens, at + 1);
    }
    symbols->blocks[symbols->n_blocks++] = (struct gi_stage_block){
        .binding = binding_of(tokens, s),
        .name = name,
        .type = gi_stage_word_of(&tokens->items[type]),
        .array = gi_stage_word_of(&tokens->items[array]),
    };
    return true;
}

// Returns the instance name of a block: the word after its }.
static struct gi_stage_word instance_of(const struct gi_stage_tokens *tokens,
                                        const struct gi_stage_statement *s)
{
    const struct gi_stage_token *token = &tokens->items[gi_stage_skip_blanks(tokens, s->close + 1)];
    return token->kind == GI_STAGE_TOKEN_WORD ? gi_stage_word_of(token)
                                              : (struct gi_stage_word){NULL, 0};
}

static bool scan_params(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s,
                        struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    bool is_type = true, is_float = false;
    for (uint32_t i = s->open + 1; i < s->close; i++) {
        const struct gi_stage_token *token = &tokens->items[i];
        if (token->kind == GI_STAGE_TOKEN_WORD && is_type) {
            is_float = gi_stage_is_word(token, "float");
            is_type = false;
            if (!is_float && !gi_stage_is_word(token, "uint")) {
                return gi_stage_refuse(gi_stage_word_of(token),
                                       "Params of other than uint and float", err);
            }
        } else if (token->kind == GI_STAGE_TOKEN_WORD) {
            if (symbols->n_fields == GI_STAGE_MAX_FIELDS) {
                return gi_stage_refuse(gi_stage_word_of(token), "too many Params", err);
            }
            symbols->fields[symbols->n_fields++] =
                (struct gi_stage_field){gi_stage_word_of(token), is_float};
        } else if (token->kind == GI_STAGE_TOKEN_LINE) {
            return gi_stage_refuse(gi_stage_word_of(token), "Params that depend on a define", err);
        }
        is_type = is_type || gi_stage_is_sign(token, ';');
    }
    symbols->params = instance_of(tokens, s);
    return true;
}

static bool scan_shared(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s,
                        struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    const uint32_t type = gi_stage_skip_blanks(tokens, s->first + 1);
    struct gi_stage_declarator d;
    for (uint32_t at = 0; gi_stage_next_declarator(tokens, s, &at, &d);) {
        const struct gi_stage_word name = gi_stage_word_of(&tokens->items[d.name]);
        if (symbols->n_shared == GI_STAGE_MAX_SHARED) {
            return gi_stage_refuse(name, "too much shared memory", err);
        }
        symbols->shared[symbols->n_shared++] = (struct gi_stage_shared){
            .name = name,
            .type = gi_stage_word_of(&tokens->items[type]),
            .is_array =
                gi_stage_is_sign(&tokens->items[gi_stage_skip_blanks(tokens, d.name + 1)], '['),
        };
    }
    return true;
}

static bool scan_variable(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s,
                          struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    struct gi_stage_declarator d;
    if (gi_stage_is_shared(tokens, s)) {
        return scan_shared(tokens, s, symbols, err);
    }
    for (uint32_t at = 0; gi_stage_next_declarator(tokens, s, &at, &d);) {
        if (!add_global(symbols, gi_stage_word_of(&tokens->items[d.name]), err)) {
            return false;
        }
    }
    return true;
}

static bool scan_statement(const struct gi_stage_tokens *tokens, const struct gi_stage_statement *s,
                           struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    const struct gi_stage_word name = gi_stage_word_of(&tokens->items[s->name]);
    switch (s->kind) {
    case GI_STAGE_STATEMENT_STRUCT:
    case GI_STAGE_STATEMENT_FUNCTION:
        return gi_stage_word_is(name, "main") || add_global(symbols, name, err);
    case GI_STAGE_STATEMENT_VARIABLE:
        return scan_variable(tokens, s, symbols, err);
    case GI_STAGE_STATEMENT_STORAGE:
        return scan_storage(tokens, s, symbols, err);
    case GI_STAGE_STATEMENT_PARAMS:
        return scan_params(tokens, s, symbols, err);
    case GI_STAGE_STATEMENT_STATE:
        symbols->state = instance_of(tokens, s);
        return true;
    default: // stages have nothing like it
        return true;
    }
}

bool gi_stage_scan(const char *text, struct gi_stage_symbols *symbols, struct glinfer_error *err)
{
    struct gi_stage_tokens tokens;
    struct gi_stage_statement s;
    *symbols = (struct gi_stage_symbols){0};
    if (!gi_stage_read_tokens(text, strlen(text), true, &tokens, err)) {
        return false;
    }
    bool ok = true;
    for (uint32_t at = 0; ok && gi_stage_take_statement(&tokens, &at, &s);) {
        ok = scan_statement(&tokens, &s, symbols, err);
    }
    free(tokens.items);
    return ok;
}
