#include "persistent/source/stage_source.h"

#include <stdlib.h>
#include <string.h>

// Reads or writes a stage. The first error ends the pass.
struct pass {
    struct gi_stage *stage;
    const struct gi_stage_tokens *tokens;
    FILE *out;      // when writing
    bool is_struct; // in its body
    bool is_refused;
    struct glinfer_error *err;
};

// Fails with UNSUPPORTED: a stage cannot have this, and why.
static void refuse(struct pass *p, struct gi_stage_word word, const char *why)
{
    if (!p->is_refused) {
        gi_error_set(p->err, GLINFER_STATUS_UNSUPPORTED,
                     "cannot be part of one dispatch, for its %.*s: %s", GI_STAGE_TEXT(word), why);
    }
    p->is_refused = true;
}

static struct gi_stage_word word_at(const struct pass *p, uint32_t at)
{
    return p->tokens->items[at].word;
}

static uint32_t next(const struct pass *p, uint32_t at)
{
    return gi_stage_skip(p->tokens, at + 1);
}

//-- reading ---------------------------------------------------------------------------------------

static bool has_room(struct pass *p, uint32_t n, uint32_t most, struct gi_stage_word word,
                     const char *why)
{
    if (n == most) {
        refuse(p, word, why);
    }
    return n < most;
}

static bool is_global(const struct gi_stage *stage, struct gi_stage_word word)
{
    for (uint32_t i = 0; i < stage->n_globals; i++) {
        if (gi_stage_is_equal(stage->globals[i], word)) {
            return true;
        }
    }
    return false;
}

static void add_global(struct pass *p, struct gi_stage_word word)
{
    struct gi_stage *stage = p->stage;
    if (!gi_stage_word_is(word, "main") && !is_global(stage, word) &&
        has_room(p, stage->n_globals, GI_STAGE_MAX_GLOBALS, word, "too many names")) {
        stage->globals[stage->n_globals++] = word;
    }
}

// buffer Name { type array[]; };
static void read_storage(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage *stage = p->stage;
    const struct gi_stage_word name = word_at(p, s->name);
    const uint32_t type = next(p, s->open), array = next(p, type);
    uint32_t at = array;
    for (const char *sign = "[];}"; *sign; sign++) {
        at = next(p, at);
        if (!gi_stage_is_sign(p->tokens, at, *sign)) {
            refuse(p, name, "a storage block of other than one array");
        }
    }
    if (has_room(p, stage->n_blocks, GI_STAGE_MAX_BLOCKS, name, "too many storage blocks")) {
        stage->blocks[stage->n_blocks++] = (struct gi_stage_block){.binding = s->binding,
                                                                   .name = name,
                                                                   .type = word_at(p, type),
                                                                   .array = word_at(p, array)};
    }
}

// Returns the instance name of a block: the word after its }.
static struct gi_stage_word instance_of(const struct pass *p, const struct gi_stage_statement *s)
{
    const uint32_t at = next(p, s->close);
    return p->tokens->items[at].kind == GI_STAGE_TOKEN_WORD ? word_at(p, at)
                                                            : (struct gi_stage_word){NULL, 0};
}

// uniform Params { uint a, b; float c; } params;
static void read_params(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage *stage = p->stage;
    bool is_type = true, is_float = false;
    for (uint32_t i = next(p, s->open); i < s->close; i = next(p, i)) {
        const struct gi_stage_word word = word_at(p, i);
        if (p->tokens->items[i].kind != GI_STAGE_TOKEN_WORD) {
            is_type = is_type || gi_stage_is_sign(p->tokens, i, ';');
        } else if (is_type) {
            is_float = gi_stage_word_is(word, "float");
            is_type = false;
            if (!is_float && !gi_stage_word_is(word, "uint")) {
                refuse(p, word, "Params of other than uint and float");
            }
        } else if (has_room(p, stage->n_fields, GI_STAGE_MAX_FIELDS, word, "too many Params")) {
            stage->fields[stage->n_fields++] =
                (struct gi_stage_field){.name = word, .is_float = is_float};
        }
    }
    stage->params = instance_of(p, s);
}

static void read_shared(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage *stage = p->stage;
    struct gi_stage_declarator d = {0};
    while (gi_stage_next_declarator(p->tokens, s, &d)) {
        const struct gi_stage_word name = word_at(p, d.name);
        if (has_room(p, stage->n_shared, GI_STAGE_MAX_SHARED, name, "too much shared memory")) {
            stage->shared[stage->n_shared++] =
                (struct gi_stage_shared){name, word_at(p, next(p, s->first)),
                                         gi_stage_is_sign(p->tokens, next(p, d.name), '[')};
        }
    }
}

static void read_statement(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage_declarator d = {0};
    switch (s->kind) {
    case GI_STAGE_STATEMENT_STRUCT:
    case GI_STAGE_STATEMENT_FUNCTION:
        add_global(p, word_at(p, s->name));
        break;
    case GI_STAGE_STATEMENT_VARIABLE:
        while (gi_stage_next_declarator(p->tokens, s, &d)) {
            add_global(p, word_at(p, d.name));
        }
        break;
    case GI_STAGE_STATEMENT_SHARED:
        read_shared(p, s);
        break;
    case GI_STAGE_STATEMENT_STORAGE:
        read_storage(p, s);
        break;
    case GI_STAGE_STATEMENT_PARAMS:
        read_params(p, s);
        break;
    case GI_STAGE_STATEMENT_STATE:
        p->stage->state = instance_of(p, s);
        break;
    case GI_STAGE_STATEMENT_DROPPED:
        break;
    }
}

bool gi_stage_init(struct gi_stage *stage, const char *text, struct glinfer_error *err)
{
    struct gi_stage_statement s;
    struct pass p = {.stage = stage, .tokens = &stage->tokens, .err = err};
    *stage = (struct gi_stage){0};
    if (!gi_stage_read_tokens(text, &stage->tokens, err)) {
        return false;
    }
    for (uint32_t at = 0; gi_stage_take_statement(p.tokens, &at, &s);) {
        read_statement(&p, &s);
    }
    if (p.is_refused) {
        gi_stage_finish(stage);
    }
    return !p.is_refused;
}

void gi_stage_finish(struct gi_stage *stage)
{
    free(stage->tokens.items);
    stage->tokens = (struct gi_stage_tokens){0};
}

//-- writing ---------------------------------------------------------------------------------------

static void write_word(const struct pass *p, struct gi_stage_word word)
{
    fwrite(word.start, 1, word.size, p->out);
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

static const struct gi_stage_shared *find_shared(const struct gi_stage *stage,
                                                 struct gi_stage_word word)
{
    for (uint32_t i = 0; i < stage->n_shared; i++) {
        if (gi_stage_is_equal(stage->shared[i].name, word)) {
            return &stage->shared[i];
        }
    }
    return NULL;
}

// Spaces do not matter here, nor where lines end.
static uint32_t skip_space(const struct pass *p, uint32_t at)
{
    while (p->tokens->items[at].kind == GI_STAGE_TOKEN_SPACE) {
        at++;
    }
    return at;
}

// Writes the prefix of array[i] and marks its ]. Returns its [.
static uint32_t write_array(struct pass *p, uint32_t at, const char *prefix)
{
    const uint32_t open = skip_space(p, at + 1);
    uint32_t depth = 0;
    for (uint32_t i = open; i < p->tokens->count; i++) {
        depth += gi_stage_is_sign(p->tokens, i, '[');
        depth -= depth > 0 && gi_stage_is_sign(p->tokens, i, ']');
        if (depth == 0) {
            p->tokens->items[i].is_close = gi_stage_is_sign(p->tokens, i, ']');
            break;
        }
    }
    if (!gi_stage_is_sign(p->tokens, open, '[')) {
        refuse(p, word_at(p, at), "storage that is used as other than array[i]");
    }
    fputs(prefix, p->out);
    return open;
}

// Writes params.field. Returns its last token.
static uint32_t write_field(struct pass *p, uint32_t at)
{
    const struct gi_stage *stage = p->stage;
    const uint32_t dot = skip_space(p, at + 1),
                   name = skip_space(p, dot + (dot < p->tokens->count));
    uint32_t i = 0;
    if (!gi_stage_is_sign(p->tokens, dot, '.')) {
        refuse(p, word_at(p, at), "Params that are used whole");
    }
    while (i < stage->n_fields && !gi_stage_is_equal(stage->fields[i].name, word_at(p, name))) {
        i++;
    }
    // Text that is compiled away may have fields that do not exist.
    fputs(i < stage->n_fields ? stage->fields[i].text : "no_such_field", p->out);
    return name;
}

// Returns true if a word names a member of a struct.
static bool is_member(const struct pass *p, uint32_t at)
{
    const char sign = *word_at(p, next(p, at)).start;
    return (at > 0 && gi_stage_is_sign(p->tokens, at - 1, '.')) ||
           (p->is_struct && (sign == ';' || sign == ',' || sign == '['));
}

// Writes a word as the program calls it. Returns the last token that it stands for.
static uint32_t write_name(struct pass *p, uint32_t at)
{
    const struct gi_stage *stage = p->stage;
    const struct gi_stage_word word = word_at(p, at);
    const struct gi_stage_shared *shared = find_shared(stage, word);
    const char *builtin = find_builtin(word);
    uint32_t block = 0;
    while (block < stage->n_blocks && !gi_stage_is_equal(stage->blocks[block].array, word)) {
        block++;
    }
    if (is_member(p, at)) {
        write_word(p, word);
    } else if (builtin) {
        fputs(builtin, p->out);
    } else if (gi_stage_word_is(word, "main")) {
        fprintf(p->out, "stage%s", p->stage->suffix);
    } else if (stage->state.size > 0 && gi_stage_is_equal(word, stage->state)) {
        fputs(stage->state_name, p->out);
    } else if (stage->params.size > 0 && gi_stage_is_equal(word, stage->params)) {
        return write_field(p, at);
    } else if (block < stage->n_blocks && *stage->blocks[block].prefix) {
        return write_array(p, at, stage->blocks[block].prefix);
    } else {
        const bool has_suffix = block < stage->n_blocks || is_global(stage, word);
        write_word(p, word);
        fputs(!shared && has_suffix ? p->stage->suffix : "", p->out);
        if (shared) {
            fprintf(p->out, "_%.*s", GI_STAGE_TEXT(shared->type));
        }
    }
    return at;
}

static bool is_directive(const struct pass *p, uint32_t at, const char *name)
{
    return p->tokens->items[at].is_line && gi_stage_is_sign(p->tokens, at, '#') &&
           gi_stage_is_word(p->tokens, skip_space(p, at + 1), name);
}

// Directives that stand at the head of a program, and errors, which are prose.
static bool is_left_out(const struct pass *p, uint32_t at)
{
    return is_directive(p, at, "version") || is_directive(p, at, "extension") ||
           is_directive(p, at, "error");
}

// Writes tokens first .. end - 1; with has_lines_only those of the preprocessor: conditions that
// begin before a statement and end in it outlive it.
static void write_tokens(struct pass *p, uint32_t first, uint32_t end, bool has_lines_only)
{
    for (uint32_t at = first; at < end; at++) {
        const struct gi_stage_token *token = &p->tokens->items[at];
        const bool is_end = token->is_line && !p->tokens->items[at + 1].is_line;
        if (is_left_out(p, at)) {
            while (p->tokens->items[at + 1].is_line) {
                at++;
            }
        } else if (has_lines_only && !token->is_line) {
            continue;
        } else if (token->kind == GI_STAGE_TOKEN_SPACE) {
            const bool is_line =
                token->is_line || !memchr(token->word.start, '\n', token->word.size);
            fputc(is_line ? ' ' : '\n', p->out);
        } else if (token->kind == GI_STAGE_TOKEN_WORD) {
            at = write_name(p, at);
        } else {
            fputs(token->is_close ? ")" : "", p->out);
            write_word(p, token->word);
        }
        fputs(is_end ? "\n" : "", p->out);
    }
}

static void write_own_block(const struct pass *p, const struct gi_stage_block *block)
{
    const char *suffix = p->stage->suffix;
    fprintf(p->out, "layout(std430, binding = %u) coherent buffer %.*s%s { %.*s%s %.*s%s[]; };\n",
            block->own_binding, GI_STAGE_TEXT(block->name), suffix, GI_STAGE_TEXT(block->type),
            suffix, GI_STAGE_TEXT(block->array), suffix);
}

// Advances to the next variable of a statement that has an initial value to set before each call.
static bool next_initial(const struct pass *p, const struct gi_stage_statement *s,
                         struct gi_stage_declarator *d)
{
    const bool is_variable =
        s->kind == GI_STAGE_STATEMENT_VARIABLE && !gi_stage_is_word(p->tokens, s->first, "const");
    while (is_variable && gi_stage_next_declarator(p->tokens, s, d)) {
        if (d->begin < d->end) {
            return true;
        }
    }
    return false;
}

// Writes the initial values of variables as macros that the call of the stage expands: they stand
// where the variables do, under the same conditions.
static void write_resets(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage_declarator d = {0};
    while (next_initial(p, s, &d)) {
        const struct gi_stage_word name = word_at(p, d.name);
        fprintf(p->out, "\n#define RESET%s_%.*s %.*s%s =", p->stage->suffix, GI_STAGE_TEXT(name),
                GI_STAGE_TEXT(name), p->stage->suffix);
        write_tokens(p, d.begin, d.end, false);
        fputs(";\n", p->out);
    }
}

static void write_statement(struct pass *p, const struct gi_stage_statement *s)
{
    const bool is_kept = s->kind == GI_STAGE_STATEMENT_STRUCT ||
                         s->kind == GI_STAGE_STATEMENT_FUNCTION ||
                         s->kind == GI_STAGE_STATEMENT_VARIABLE;
    for (uint32_t i = 0; s->kind == GI_STAGE_STATEMENT_STORAGE && i < p->stage->n_blocks; i++) {
        const struct gi_stage_block *block = &p->stage->blocks[i];
        if (!*block->prefix && gi_stage_is_equal(block->name, word_at(p, s->name))) {
            write_own_block(p, block);
        }
    }
    p->is_struct = s->kind == GI_STAGE_STATEMENT_STRUCT;
    write_tokens(p, s->first, s->last + 1, !is_kept);
    p->is_struct = false;
    write_resets(p, s);
}

// run<suffix>() sets variables to their initial values and calls the stage.
static void write_run(struct pass *p)
{
    const char *suffix = p->stage->suffix;
    struct gi_stage_statement s;
    fprintf(p->out, "\nvoid run%s()\n{\n", suffix);
    for (uint32_t at = 0; gi_stage_take_statement(p->tokens, &at, &s);) {
        struct gi_stage_declarator d = {0};
        while (next_initial(p, &s, &d)) {
            const struct gi_stage_word name = word_at(p, d.name);
            fprintf(p->out, "#ifdef RESET%s_%.*s\n    RESET%s_%.*s\n#endif\n", suffix,
                    GI_STAGE_TEXT(name), suffix, GI_STAGE_TEXT(name));
        }
    }
    fprintf(
        p->out,
        "    stage%s();\n}\n"
        "#ifdef STAGE_PREFETCH\n#define PREFETCH%s() prefetch%s()\n#undef STAGE_PREFETCH\n#else\n"
        "#define PREFETCH%s()\n#endif\n",
        suffix, suffix, suffix, suffix);
}

// The sizes of the arrays of a declaration of shared memory.
static void write_array_sizes(struct pass *p, const struct gi_stage_statement *s)
{
    struct gi_stage_declarator d = {0};
    while (gi_stage_next_declarator(p->tokens, s, &d)) {
        const struct gi_stage_shared *shared = find_shared(p->stage, word_at(p, d.name));
        const uint32_t open = next(p, d.name);
        uint32_t close = d.end;
        while (close > open && !gi_stage_is_sign(p->tokens, close, ']')) {
            close--;
        }
        if (shared && shared->is_array) {
            char name[96];
            snprintf(name, sizeof(name), "%.*s_%.*s%s", GI_STAGE_TEXT(shared->name),
                     GI_STAGE_TEXT(shared->type), p->stage->suffix);
            fprintf(p->out, "\nconst int size_%s = int(", name);
            write_tokens(p, open + 1, close, false);
            fprintf(p->out, ");\n#define SIZE_%s size_%s\n", name, name);
        }
    }
}

// Undefines the macros of a stage, for the next one; one may stand for the instance of StepState.
static void write_end(const struct pass *p)
{
    for (uint32_t i = 0; i < p->tokens->count; i++) {
        if (is_directive(p, i, "define")) {
            const struct gi_stage_word name = word_at(p, skip_space(p, skip_space(p, i + 1) + 1));
            const bool is_state =
                p->stage->state.size > 0 && gi_stage_is_equal(name, p->stage->state);
            fputs("#undef ", p->out);
            is_state ? (void)fputs(p->stage->state_name, p->out) : write_word(p, name);
            fputc('\n', p->out);
        }
    }
}

bool gi_stage_write(struct gi_stage *stage, bool has_sizes_only, FILE *out,
                    struct glinfer_error *err)
{
    struct pass p = {.stage = stage, .tokens = &stage->tokens, .out = out, .err = err};
    struct gi_stage_statement s;
    uint32_t end = 0;
    for (uint32_t at = 0; gi_stage_take_statement(p.tokens, &at, &s); end = at) {
        write_tokens(&p, end, s.first, false);
        if (!has_sizes_only) {
            write_statement(&p, &s);
        } else if (s.kind == GI_STAGE_STATEMENT_SHARED) {
            write_array_sizes(&p, &s);
        } else {
            write_tokens(&p, s.first, s.last + 1, true);
        }
    }
    write_tokens(&p, end, p.tokens->count, false);
    if (!has_sizes_only) {
        write_run(&p);
    }
    write_end(&p);
    return !p.is_refused;
}
