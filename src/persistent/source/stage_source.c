#include "persistent/source/stage_source.h"

#include "persistent/source/stage_text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MACROS 256
#define MAX_NESTED 32 // brackets

struct writer {
    const struct gi_stage_symbols *symbols;
    const struct gi_stage_names *names;
    FILE *out;
    struct gi_stage_word macros[MAX_MACROS]; // to be undefined at the end
    uint32_t n_macros;
    struct gi_stage_word resets[GI_STAGE_MAX_GLOBALS]; // variables with initial values
    uint32_t n_resets;
    bool has_sizes_only; // the rest is left out
    bool is_in_line;     // of the preprocessor: what it was continued on follows in the same
    struct glinfer_error *err;
};

static void write_word(const struct writer *w, struct gi_stage_word word)
{
    fwrite(word.start, 1, word.size, w->out);
}

static bool is_global(const struct writer *w, struct gi_stage_word word)
{
    for (uint32_t i = 0; i < w->symbols->n_globals; i++) {
        if (gi_stage_is_equal(w->symbols->globals[i], word)) {
            return true;
        }
    }
    return false;
}

static const struct gi_stage_shared *find_shared(const struct writer *w, struct gi_stage_word word)
{
    for (uint32_t i = 0; i < w->symbols->n_shared; i++) {
        if (gi_stage_is_equal(w->symbols->shared[i].name, word)) {
            return &w->symbols->shared[i];
        }
    }
    return NULL;
}

static uint32_t find_block(const struct writer *w, struct gi_stage_word word)
{
    uint32_t i = 0;
    while (i < w->symbols->n_blocks && !gi_stage_is_equal(w->symbols->blocks[i].array, word)) {
        i++;
    }
    return i;
}

static uint32_t find_field(const struct writer *w, struct gi_stage_word word)
{
    uint32_t i = 0;
    while (i < w->symbols->n_fields && !gi_stage_is_equal(w->symbols->fields[i].name, word)) {
        i++;
    }
    return i;
}

static const char *find_builtin(struct gi_stage_word word)
{
    static const char *const names[][2] = {
        {"gl_WorkGroupID", "stage_group"},
        {"gl_NumWorkGroups", "stage_n_groups"},
        {"gl_GlobalInvocationID", "stage_invocation"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (gi_stage_word_is(word, names[i][0])) {
            return names[i][1];
        }
    }
    return NULL;
}

// A run of tokens, and how far it is written.
struct place {
    const struct gi_stage_tokens *tokens;
    uint32_t at, end;
    bool is_struct;                  // members keep their names
    const char *closers[MAX_NESTED]; // of the brackets that are open; NULL: as it is
    uint32_t depth;
    const struct gi_stage_token *before; // the previous token that is not blank
};

static bool write_array(struct writer *w, struct place *p, uint32_t block)
{
    const struct gi_stage_token *token = &p->tokens->items[p->at];
    const uint32_t open = gi_stage_skip_blanks(p->tokens, p->at + 1);
    if (open >= p->end || !gi_stage_is_sign(&p->tokens->items[open], '[') ||
        p->depth == MAX_NESTED) {
        return gi_stage_refuse(gi_stage_word_of(token),
                               "storage that is used as other than array[i]", w->err);
    }
    fputs(w->names->prefixes[block], w->out);
    p->closers[p->depth++] = w->names->suffixes[block];
    p->at = open;
    return true;
}

// params.field
static bool write_field(struct writer *w, struct place *p)
{
    const uint32_t dot = gi_stage_skip_blanks(p->tokens, p->at + 1);
    const uint32_t at = dot < p->end ? gi_stage_skip_blanks(p->tokens, dot + 1) : p->end;
    if (at == p->end) {
        return gi_stage_refuse(gi_stage_word_of(&p->tokens->items[p->at]),
                               "Params that are used whole", w->err);
    }
    // Text that is compiled away may speak of fields that there are not.
    const uint32_t field = find_field(w, gi_stage_word_of(&p->tokens->items[at]));
    fputs(field < w->symbols->n_fields ? w->names->fields[field] : "no_such_field", w->out);
    p->at = at;
    return true;
}

// True if a word declares a member of a struct.
static bool is_member(const struct place *p)
{
    const uint32_t next = gi_stage_skip_blanks(p->tokens, p->at + 1);
    return p->is_struct && next < p->tokens->count &&
           p->tokens->items[next].kind == GI_STAGE_TOKEN_SIGN &&
           strchr(";,[", *p->tokens->items[next].start) != NULL;
}

static bool write_name(struct writer *w, struct place *p)
{
    const struct gi_stage_word word = gi_stage_word_of(&p->tokens->items[p->at]);
    const struct gi_stage_symbols *symbols = w->symbols;
    const uint32_t block = find_block(w, word), field = find_field(w, word);
    const char *builtin = find_builtin(word);
    if ((p->before && gi_stage_is_sign(p->before, '.')) || is_member(p)) {
        write_word(w, word);
    } else if (gi_stage_word_is(word, "main")) {
        fprintf(w->out, "stage%s", w->names->suffix);
    } else if (builtin) {
        fputs(builtin, w->out);
    } else if (symbols->state.size > 0 && gi_stage_is_equal(word, symbols->state)) {
        fputs(w->names->state, w->out);
    } else if (symbols->params.size > 0 && gi_stage_is_equal(word, symbols->params)) {
        return write_field(w, p);
    } else if (symbols->params.size == 0 && field < symbols->n_fields) {
        fputs(w->names->fields[field], w->out);
    } else if (block < symbols->n_blocks && w->names->prefixes[block]) {
        return write_array(w, p, block);
    } else {
        const struct gi_stage_shared *shared = find_shared(w, word);
        write_word(w, word);
        if (shared) {
            fprintf(w->out, "_%.*s", GI_STAGE_TEXT(shared->type));
        } else if (block < symbols->n_blocks || is_global(w, word)) {
            fputs(w->names->suffix, w->out);
        }
    }
    return true;
}

static bool write_line(struct writer *w, const struct gi_stage_token *line);

// Writes a sign; brackets of storage arrays end as their block wants.
static bool write_sign(struct writer *w, struct place *p)
{
    const struct gi_stage_token *token = &p->tokens->items[p->at];
    const char *closer = NULL;
    if (gi_stage_is_sign(token, '[')) {
        if (p->depth == MAX_NESTED) {
            return gi_stage_refuse(gi_stage_word_of(token), "brackets that are nested too deep",
                                   w->err);
        }
        p->closers[p->depth++] = NULL;
    } else if (gi_stage_is_sign(token, ']') && p->depth > 0) {
        closer = p->closers[--p->depth];
    }
    if (closer) {
        fputs(closer, w->out);
    } else {
        write_word(w, gi_stage_word_of(token));
    }
    return true;
}

// NOLINTNEXTLINE(misc-no-recursion): a line of the preprocessor holds tokens, but no further line
static bool write_token(struct writer *w, struct place *p)
{
    const struct gi_stage_token *token = &p->tokens->items[p->at];
    switch (token->kind) {
    case GI_STAGE_TOKEN_SPACE:
        fputc(!w->is_in_line && memchr(token->start, '\n', token->size) ? '\n' : ' ', w->out);
        return true;
    case GI_STAGE_TOKEN_LINE:
        return write_line(w, token);
    case GI_STAGE_TOKEN_WORD:
        return write_name(w, p);
    case GI_STAGE_TOKEN_NUMBER:
        write_word(w, gi_stage_word_of(token));
        return true;
    default:
        return write_sign(w, p);
    }
}

// NOLINTNEXTLINE(misc-no-recursion)
static bool write_tokens(struct writer *w, const struct gi_stage_tokens *tokens, uint32_t first,
                         uint32_t end, bool is_struct)
{
    struct place p = {.tokens = tokens, .at = first, .end = end, .is_struct = is_struct};
    while (p.at < end) {
        if (!write_token(w, &p)) {
            return false;
        }
        if (!gi_stage_is_blank(&tokens->items[p.at])) {
            p.before = &tokens->items[p.at];
        }
        p.at++;
    }
    return true;
}

// Notes the name that a #define defines.
static bool note_macro(struct writer *w, const struct gi_stage_tokens *line)
{
    const uint32_t word = gi_stage_skip_blanks(line, 1);
    const uint32_t name = gi_stage_skip_blanks(line, word + 1);
    if (word >= line->count || name >= line->count ||
        !gi_stage_is_word(&line->items[word], "define")) {
        return true;
    }
    if (w->n_macros == MAX_MACROS) {
        return gi_stage_refuse(gi_stage_word_of(&line->items[name]), "too many macros", w->err);
    }
    w->macros[w->n_macros++] = gi_stage_word_of(&line->items[name]);
    return true;
}

// Lines of the preprocessor stay, but for those that stand at the head of a program; errors are
// prose. NOLINTNEXTLINE(misc-no-recursion)
static bool write_line(struct writer *w, const struct gi_stage_token *line)
{
    struct gi_stage_tokens tokens;
    if (!gi_stage_read_tokens(line->start, line->size, false, &tokens, w->err)) {
        return false;
    }
    const uint32_t word = gi_stage_skip_blanks(&tokens, 1);
    bool ok = true;
    if (word < tokens.count && gi_stage_is_word(&tokens.items[word], "error")) {
        write_word(w, gi_stage_word_of(line));
    } else if (word < tokens.count && !gi_stage_is_word(&tokens.items[word], "version") &&
               !gi_stage_is_word(&tokens.items[word], "extension")) {
        w->is_in_line = true;
        ok = note_macro(w, &tokens) && write_tokens(w, &tokens, 0, tokens.count, false);
        w->is_in_line = false;
    }
    free(tokens.items);
    return ok;
}

// A variable's initial value, as a macro that the call of the stage expands: it stands where the
// variable does, under the same conditions.
static bool write_resets(struct writer *w, const struct gi_stage_tokens *tokens,
                         const struct gi_stage_statement *s)
{
    struct gi_stage_declarator d;
    if (gi_stage_is_word(&tokens->items[s->first], "const")) {
        return true;
    }
    for (uint32_t at = 0; gi_stage_next_declarator(tokens, s, &at, &d);) {
        const struct gi_stage_word name = gi_stage_word_of(&tokens->items[d.name]);
        if (d.begin == d.end) {
            continue;
        }
        if (w->n_resets == GI_STAGE_MAX_GLOBALS) { // a name counts again under another condition
            return gi_stage_refuse(name, "too many initial values", w->err);
        }
        fprintf(w->out, "\n#define RESET%s_%.*s %.*s%s =", w->names->suffix, GI_STAGE_TEXT(name),
                GI_STAGE_TEXT(name), w->names->suffix);
        if (!write_tokens(w, tokens, d.begin, d.end, false)) {
            return false;
        }
        fputs(";\n", w->out);
        w->resets[w->n_resets++] = name;
    }
    return true;
}

static void write_own_block(const struct writer *w, const struct gi_stage_block *block, uint32_t i)
{
    const char *suffix = w->names->suffix;
    fprintf(w->out, "layout(std430, binding = %u) coherent buffer %.*s%s { %.*s%s %.*s%s[]; };\n",
            w->names->bindings[i], GI_STAGE_TEXT(block->name), suffix, GI_STAGE_TEXT(block->type),
            suffix, GI_STAGE_TEXT(block->array), suffix);
}

// Conditions that begin before a statement and end in it outlive it.
static bool write_lines(struct writer *w, const struct gi_stage_tokens *tokens,
                        const struct gi_stage_statement *s)
{
    for (uint32_t i = s->first; i <= s->last; i++) {
        if (tokens->items[i].kind == GI_STAGE_TOKEN_LINE) {
            fputc('\n', w->out);
            if (!write_line(w, &tokens->items[i])) {
                return false;
            }
            fputc('\n', w->out);
        }
    }
    return true;
}

// The sizes of the arrays of a declaration of shared memory.
static bool write_sizes(struct writer *w, const struct gi_stage_tokens *tokens,
                        const struct gi_stage_statement *s)
{
    struct gi_stage_declarator d;
    for (uint32_t at = 0; gi_stage_next_declarator(tokens, s, &at, &d);) {
        const struct gi_stage_shared *shared =
            find_shared(w, gi_stage_word_of(&tokens->items[d.name]));
        const uint32_t open = gi_stage_skip_blanks(tokens, d.name + 1);
        uint32_t close = d.end;
        while (close > open && !gi_stage_is_sign(&tokens->items[close], ']')) {
            close--;
        }
        if (!shared || !shared->is_array) {
            continue;
        }
        fprintf(w->out, "\nconst int size_%.*s_%.*s%s = int(", GI_STAGE_TEXT(shared->name),
                GI_STAGE_TEXT(shared->type), w->names->suffix);
        if (!write_tokens(w, tokens, open + 1, close, false)) {
            return false;
        }
        fprintf(w->out, ");\n#define SIZE_%.*s_%.*s%s size_%.*s_%.*s%s\n",
                GI_STAGE_TEXT(shared->name), GI_STAGE_TEXT(shared->type), w->names->suffix,
                GI_STAGE_TEXT(shared->name), GI_STAGE_TEXT(shared->type), w->names->suffix);
    }
    return true;
}

static bool write_statement(struct writer *w, const struct gi_stage_tokens *tokens,
                            const struct gi_stage_statement *s)
{
    if (s->kind == GI_STAGE_STATEMENT_VARIABLE && gi_stage_is_shared(tokens, s)) {
        return !w->has_sizes_only || write_sizes(w, tokens, s);
    }
    if (w->has_sizes_only) {
        return write_lines(w, tokens, s);
    }
    switch (s->kind) {
    case GI_STAGE_STATEMENT_STORAGE: {
        uint32_t i = 0;
        while (!gi_stage_is_equal(w->symbols->blocks[i].name,
                                  gi_stage_word_of(&tokens->items[s->name]))) {
            i++;
        }
        if (!w->names->prefixes[i]) {
            write_own_block(w, &w->symbols->blocks[i], i);
        }
        return write_lines(w, tokens, s);
    }
    case GI_STAGE_STATEMENT_STRUCT:
        return write_tokens(w, tokens, s->first, s->open, false) &&
               write_tokens(w, tokens, s->open, s->last + 1, true);
    case GI_STAGE_STATEMENT_FUNCTION:
        return write_tokens(w, tokens, s->first, s->last + 1, false);
    case GI_STAGE_STATEMENT_VARIABLE:
        return write_tokens(w, tokens, s->first, s->last + 1, false) && write_resets(w, tokens, s);
    default:
        return write_lines(w, tokens, s);
    }
}

// run<suffix>() sets variables to their initial values and calls the stage.
static void write_end(const struct writer *w)
{
    const char *suffix = w->names->suffix;
    for (uint32_t i = 0; i < w->n_resets; i++) {
        fprintf(w->out, "\n#ifndef RESET%s_%.*s\n#define RESET%s_%.*s\n#endif", suffix,
                GI_STAGE_TEXT(w->resets[i]), suffix, GI_STAGE_TEXT(w->resets[i]));
    }
    fprintf(w->out, "\nvoid run%s()\n{\n", suffix);
    for (uint32_t i = 0; i < w->n_resets; i++) {
        fprintf(w->out, "    RESET%s_%.*s\n", suffix, GI_STAGE_TEXT(w->resets[i]));
    }
    fprintf(
        w->out,
        "    stage%s();\n}\n"
        "#ifdef STAGE_PREFETCH\n#define PREFETCH%s() prefetch%s()\n#undef STAGE_PREFETCH\n#else\n"
        "#define PREFETCH%s()\n#endif\n",
        suffix, suffix, suffix, suffix);
}

bool gi_stage_write(const char *text, const struct gi_stage_symbols *symbols,
                    const struct gi_stage_names *names, bool has_sizes_only, FILE *out,
                    struct glinfer_error *err)
{
    struct gi_stage_tokens tokens = {0};
    struct gi_stage_statement s;
    struct writer *w = calloc(1, sizeof(*w));
    if (!w) {
        return gi_error_no_memory(err, sizeof(*w), "a stage");
    }
    *w = (struct writer){.symbols = symbols,
                         .names = names,
                         .out = out,
                         .has_sizes_only = has_sizes_only,
                         .err = err};
    bool ok = gi_stage_read_tokens(text, strlen(text), true, &tokens, err);
    uint32_t end = 0;
    for (uint32_t at = 0; ok && gi_stage_take_statement(&tokens, &at, &s); end = at) {
        ok = write_tokens(w, &tokens, end, s.first, false) && write_statement(w, &tokens, &s);
    }
    if (ok) {
        ok = write_tokens(w, &tokens, end, tokens.count, false);
        if (!has_sizes_only) {
            write_end(w);
        }
        for (uint32_t i = 0; i < w->n_macros; i++) {
            fprintf(w->out, "#undef %.*s\n", GI_STAGE_TEXT(w->macros[i]));
        }
    }
    free(tokens.items);
    free(w);
    return ok;
}
