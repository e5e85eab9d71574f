#include "grammar/gbnf/grammar_parser.h"

#include "base/array.h"
#include "base/hash.h"
#include "grammar/gbnf/grammar_reader.h"
#include "grammar/gbnf/grammar_recursion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 100, MAX_REPEAT = 10000, MAX_SIZE = 4 << 20 };

static const char purpose[] = "a grammar";

struct parser {
    struct gi_gbnf *gbnf;
    struct gi_builder *build;
    struct gi_reader in;
    const struct gi_grammar_names *names;
    int depth; // of groups and repetitions
};

// Nodes for a part of a rule, the last of which is to be led on; first is GI_BUILD_NOTHING for the
// empty text.
struct part {
    uint32_t first, last;
};

static const struct part empty = {GI_BUILD_NOTHING, GI_BUILD_NOTHING};

void gi_gbnf_finish(struct gi_gbnf *gbnf)
{
    free(gbnf->rules.data);
    free(gbnf->names.data);
    gi_index_finish(&gbnf->index);
    memset(gbnf, 0, sizeof(*gbnf));
}

//-- rules by name ---------------------------------------------------------------------------------

// Returns the index of the rule of a name in gbnf->rules; GI_INDEX_END if the name is
// not known.
static uint32_t find_rule(const struct gi_gbnf *gbnf, const char *name, size_t size, uint32_t *hash)
{
    struct gi_hash all;
    uint32_t step = 0, found;
    gi_hash_init(&all);
    gi_hash_add(&all, name, size);
    *hash = (uint32_t)all.lo;
    while ((found = gi_index_next(&gbnf->index, *hash, &step)) != GI_INDEX_END) {
        const struct gi_gbnf_rule *rule = &gbnf->rules.data[found];
        if (rule->name_size == size && memcmp(&gbnf->names.data[rule->name], name, size) == 0) {
            break;
        }
    }
    return found;
}

// Sets *index to that of the rule of a name in gbnf->rules, which is added if it is not there.
static bool add_rule(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name,
                     size_t size, uint32_t *index)
{
    const struct gi_gbnf_rule made = {
        .name = (uint32_t)gbnf->names.count, .name_size = (uint32_t)size, .at = UINT32_MAX};
    uint32_t hash;
    *index = find_rule(gbnf, name, size, &hash);
    if (*index != GI_INDEX_END) {
        return true;
    }
    *index = (uint32_t)gbnf->rules.count;
    if (!GI_ARRAY_RESERVE(&gbnf->names, made.name + size, purpose, builder->err) ||
        !GI_ARRAY_PUSH(&gbnf->rules, purpose, builder->err, made) ||
        !gi_index_add(&gbnf->index, hash, *index, purpose, builder->err)) {
        return false;
    }
    memcpy(&gbnf->names.data[made.name], name, size);
    gbnf->names.count += size;
    gbnf->rules.data[*index].rule = gi_build_rule(builder, GI_BUILD_END);
    return !builder->has_failed;
}

uint32_t gi_gbnf_declare(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name)
{
    uint32_t index;
    if (builder->has_failed || !add_rule(gbnf, builder, name, strlen(name), &index)) {
        builder->has_failed = true;
        return 0;
    }
    gbnf->rules.data[index].is_defined = true;
    return gbnf->rules.data[index].rule;
}

uint32_t gi_gbnf_rule(const struct gi_gbnf *gbnf, const char *name)
{
    uint32_t hash;
    const uint32_t index = find_rule(gbnf, name, strlen(name), &hash);
    return index != GI_INDEX_END ? gbnf->rules.data[index].rule : GI_GBNF_NO_RULE;
}

//-- items -----------------------------------------------------------------------------------------

static void append(struct parser *p, struct part *part, struct part next)
{
    if (part->first == GI_BUILD_NOTHING) {
        *part = next;
    } else if (next.first != GI_BUILD_NOTHING) {
        gi_build_lead(p->build, part->last, next.first);
        part->last = next.last;
    }
}

static bool add_node(struct parser *p, struct part *part, enum gi_node_kind kind, uint32_t a)
{
    const uint32_t node = gi_build_node(p->build, kind, a, GI_BUILD_END);
    append(p, part, (struct part){node, node});
    return !p->build->has_failed;
}

static bool add_class(struct parser *p, struct part *part, size_t begin, bool is_negated)
{
    const uint32_t node = gi_build_class(p->build, is_negated, GI_BUILD_END);
    append(p, part, (struct part){node, node});
    return !p->build->has_failed &&
           (node != GI_BUILD_NOTHING || gi_reader_fail_at(&p->in, begin, "empty character class"));
}

static bool parse_literal(struct parser *p, struct part *part)
{
    const size_t begin = p->in.at++;
    while (gi_reader_peek(&p->in) != '"') {
        uint32_t code;
        if (gi_reader_peek(&p->in) < 0 || gi_reader_peek(&p->in) == '\n') {
            return gi_reader_fail_at(&p->in, begin, "missing closing quote of a literal");
        }
        if (!gi_reader_take_char(&p->in, &code)) {
            return false;
        }
        gi_build_range(p->build, code, code);
        if (!add_class(p, part, begin, false)) {
            return false;
        }
    }
    p->in.at++;
    return true;
}

static bool parse_range(struct parser *p, struct gi_code_range *range)
{
    const size_t begin = p->in.at;
    if (!gi_reader_take_char(&p->in, &range->lo)) {
        return false;
    }
    range->hi = range->lo;
    if (gi_reader_peek(&p->in) == '-' && p->in.at + 1 < p->in.size &&
        p->in.text[p->in.at + 1] != ']') {
        p->in.at++;
        if (!gi_reader_take_char(&p->in, &range->hi)) {
            return false;
        }
    }
    return range->lo <= range->hi ||
           gi_reader_fail_at(&p->in, begin, "invalid range: its end is before its beginning");
}

static bool parse_class(struct parser *p, struct part *part)
{
    const size_t begin = p->in.at++;
    const bool is_negated = gi_reader_take(&p->in, "^");
    while (gi_reader_peek(&p->in) != ']') {
        struct gi_code_range range;
        if (gi_reader_peek(&p->in) < 0 || gi_reader_peek(&p->in) == '\n') {
            return gi_reader_fail_at(&p->in, begin, "missing closing bracket of a class");
        }
        if (!parse_range(p, &range)) {
            return false;
        }
        gi_build_range(p->build, range.lo, range.hi);
    }
    p->in.at++;
    return add_class(p, part, begin, is_negated);
}

static bool parse_token(struct parser *p, struct part *part)
{
    const size_t begin = p->in.at;
    const bool is_negated = gi_reader_take(&p->in, "!");
    if (!gi_reader_take(&p->in, "<")) {
        return gi_reader_fail(&p->in, "expected '<' and a token after '!'");
    }
    if (!p->names) {
        gi_reader_fail_at(&p->in, begin,
                          "tokens such as <text> and <[id]> are not supported here: the vocabulary "
                          "is not known");
        if (p->in.err) {
            p->in.err->status = GLINFER_STATUS_UNSUPPORTED;
        }
        return false;
    }
    uint32_t id;
    if (gi_reader_take(&p->in, "[")) {
        if (!gi_reader_take_number(&p->in, (uint32_t)INT32_MAX, "expected the id of a token",
                                   &id) ||
            !(gi_reader_take(&p->in, "]>") ||
              gi_reader_fail(&p->in, "a token's id ends with \"]>\""))) {
            return false;
        }
    } else {
        while (gi_reader_peek(&p->in) >= 0 && gi_reader_peek(&p->in) != '>' &&
               gi_reader_peek(&p->in) != '\n') {
            p->in.at++;
        }
        if (!gi_reader_take(&p->in, ">")) {
            return gi_reader_fail_at(&p->in, begin, "missing closing '>' of a token");
        }
        const size_t text = begin + (is_negated ? 1 : 0);
        id = (uint32_t)p->names->find(p->names->user, p->in.text + text, p->in.at - text);
    }
    if (id >= (uint32_t)p->names->n_tokens) {
        return gi_reader_fail_at(&p->in, begin, "unknown token");
    }
    return add_node(p, part, is_negated ? GI_NODE_NOT_TOKEN : GI_NODE_TOKEN, id);
}

static bool parse_mention(struct parser *p, struct part *part)
{
    const size_t begin = p->in.at, size = gi_reader_take_name(&p->in);
    uint32_t index;
    if (!add_rule(p->gbnf, p->build, p->in.text + begin, size, &index)) {
        return false;
    }
    struct gi_gbnf_rule *rule = &p->gbnf->rules.data[index];
    rule->at = rule->at == UINT32_MAX ? (uint32_t)begin : rule->at;
    return add_node(p, part, GI_NODE_CALL, rule->rule);
}

static bool parse_choice(struct parser *p, bool is_nested, struct part *part);

static bool parse_group(struct parser *p, struct part *part)
{
    const size_t begin = p->in.at++;
    if (p->depth == MAX_DEPTH) {
        return gi_reader_fail_at(&p->in, begin, "groups are nested deeper than 100");
    }
    p->depth++;
    gi_reader_skip_space(&p->in, true);
    if (!parse_choice(p, true, part)) {
        return false;
    }
    p->depth--;
    return gi_reader_take(&p->in, ")") ||
           gi_reader_fail_at(&p->in, begin, "missing closing parenthesis of a group");
}

//-- repetitions -----------------------------------------------------------------------------------

static bool parse_bounds(struct parser *p, uint32_t *least, uint32_t *most)
{
    static const char wrong[] = "a repetition is {m}, {m,} or {m,n} of at most 10000";
    const size_t begin = p->in.at++;
    gi_reader_skip_space(&p->in, true);
    if (!gi_reader_take_number(&p->in, MAX_REPEAT, wrong, least)) {
        return false;
    }
    *most = *least;
    gi_reader_skip_space(&p->in, true);
    if (gi_reader_take(&p->in, ",")) {
        gi_reader_skip_space(&p->in, true);
        *most = GI_BUILD_ENDLESS;
        if (gi_reader_peek(&p->in) != '}' &&
            !gi_reader_take_number(&p->in, MAX_REPEAT, wrong, most)) {
            return false;
        }
        gi_reader_skip_space(&p->in, true);
    }
    if (!gi_reader_take(&p->in, "}")) {
        return gi_reader_fail(&p->in, wrong);
    }
    return *least <= *most ||
           gi_reader_fail_at(&p->in, begin, "invalid repetition: the maximum is below the minimum");
}

// Repeats a part, whose nodes were added since there were n_before.
static void repeat(struct parser *p, struct part *part, size_t n_before, uint32_t least,
                   uint32_t most)
{
    struct gi_builder *build = p->build;
    struct gi_grammar *grammar = build->grammar;
    if (most == 0 || part->first == GI_BUILD_NOTHING) {
        *part = empty;
        return;
    }
    // A part of one node is copied; any other is a rule that is called.
    const struct gi_node one = grammar->nodes.data[part->first];
    const bool is_one = grammar->nodes.count == n_before + 1 && one.kind != GI_NODE_SPLIT;
    const bool is_optional = least == 0 && most == 1;
    uint32_t rule = one.a;
    if (is_one) {
        grammar->nodes.count--;
    } else if (!is_optional) {
        rule = gi_build_rule(build, part->first);
    }
    const uint32_t join = gi_build_joins(build, 1);
    if (is_optional && !is_one) {
        gi_build_lead(build, part->last, join);
        part->first = gi_build_either(build, part->first, join);
    } else {
        part->first =
            gi_build_repeat(build, is_one ? one.kind : GI_NODE_CALL, rule, least, most, join);
    }
    part->last = join;
}

// Repeats a part as it is asked for here; *is_repeat is false if it is not.
static bool parse_repeat(struct parser *p, struct part *part, size_t n_before, bool *is_repeat)
{
    uint32_t least = 0, most = GI_BUILD_ENDLESS;
    *is_repeat = true;
    if (gi_reader_take(&p->in, "+")) {
        least = 1;
    } else if (gi_reader_take(&p->in, "?")) {
        most = 1;
    } else if (gi_reader_peek(&p->in) == '{') {
        if (!parse_bounds(p, &least, &most)) {
            return false;
        }
    } else if (!gi_reader_take(&p->in, "*")) {
        *is_repeat = false;
        return true;
    }
    repeat(p, part, n_before, least, most);
    return !p->build->has_failed;
}

static bool parse_item(struct parser *p, struct part *part)
{
    switch (gi_reader_peek(&p->in)) {
    case '"':
        return parse_literal(p, part);
    case '[':
        return parse_class(p, part);
    case '.':
        return add_class(p, part, p->in.at++, true);
    case '(':
        return parse_group(p, part);
    case '<':
    case '!':
        return parse_token(p, part);
    default:
        return parse_mention(p, part);
    }
}

static bool begins_item(int byte)
{
    return gi_reader_is_name_byte(byte) || (byte > 0 && strchr("\"[.(<!", byte));
}

static bool parse_sequence(struct parser *p, bool is_nested, struct part *part)
{
    while (begins_item(gi_reader_peek(&p->in))) {
        struct part item = empty;
        bool is_repeat = true;
        const size_t n_before = p->build->grammar->nodes.count;
        const int depth = p->depth; // repetitions of repetitions nest, too
        if (!parse_item(p, &item)) {
            return false;
        }
        gi_reader_skip_space(&p->in, is_nested);
        while (is_repeat) {
            if (p->depth++ > MAX_DEPTH) {
                return gi_reader_fail(&p->in, "repetitions are nested deeper than 100");
            }
            if (!parse_repeat(p, &item, n_before, &is_repeat)) {
                return false;
            }
            gi_reader_skip_space(&p->in, is_nested);
        }
        p->depth = depth;
        append(p, part, item);
    }
    return true;
}

static bool parse_choice(struct parser *p, bool is_nested, struct part *part)
{
    struct part one = empty;
    gi_reader_skip_space(&p->in, is_nested);
    if (!parse_sequence(p, is_nested, &one)) {
        return false;
    }
    *part = one;
    if (gi_reader_peek(&p->in) != '|') {
        return true;
    }
    const uint32_t join = gi_build_joins(p->build, 1);
    append(p, part, (struct part){join, join});
    while (gi_reader_take(&p->in, "|")) {
        one = empty;
        gi_reader_skip_space(&p->in, true);
        if (!parse_sequence(p, is_nested, &one)) {
            return false;
        }
        append(p, &one, (struct part){join, join});
        part->first = gi_build_either(p->build, part->first, one.first);
    }
    return !p->build->has_failed;
}

//-- rules -----------------------------------------------------------------------------------------

static bool parse_rule(struct parser *p)
{
    const size_t begin = p->in.at, size = gi_reader_take_name(&p->in);
    struct part body = empty;
    uint32_t index;
    if (size == 0) {
        return gi_reader_fail(&p->in, "expected the name of a rule: letters, digits and '-'");
    }
    if (!add_rule(p->gbnf, p->build, p->in.text + begin, size, &index)) {
        return false;
    }
    gi_reader_skip_space(&p->in, false);
    if (!gi_reader_take(&p->in, "::=")) {
        return gi_reader_fail(&p->in, "expected \"::=\"");
    }
    if (p->gbnf->rules.data[index].is_defined) {
        return gi_reader_fail_at(&p->in, begin, "duplicate rule");
    }
    gi_reader_skip_space(&p->in, true);
    p->depth = 0;
    if (!parse_choice(p, false, &body)) {
        return false;
    }
    struct gi_gbnf_rule *rule = &p->gbnf->rules.data[index];
    gi_build_set_rule(p->build, rule->rule,
                      body.first == GI_BUILD_NOTHING ? GI_BUILD_END : body.first);
    rule->is_defined = true;
    rule->at = (uint32_t)begin;
    if (gi_reader_peek(&p->in) >= 0 && gi_reader_peek(&p->in) != '\n' &&
        gi_reader_peek(&p->in) != '\r') {
        return gi_reader_fail(&p->in, "unexpected text after a rule");
    }
    gi_reader_skip_space(&p->in, true);
    return true;
}

// Fails with the place of a rule in the text, its name and a reason.
static bool fail_rule(const struct gi_gbnf *gbnf, const struct gi_gbnf_rule *rule,
                      const char *reason, struct glinfer_error *err)
{
    const struct gi_reader in = {.text = gbnf->text, .size = gbnf->size, .err = err};
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "the rule '%.*s' %s",
             rule->name_size < 100 ? (int)rule->name_size : 100, &gbnf->names.data[rule->name],
             reason);
    return gi_reader_fail_at(&in, rule->at, sentence);
}

static bool parse_all(struct parser *p)
{
    gi_reader_skip_space(&p->in, true);
    while (p->in.at < p->in.size) {
        if (!parse_rule(p)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < p->gbnf->rules.count; i++) {
        if (!p->gbnf->rules.data[i].is_defined) {
            return fail_rule(p->gbnf, &p->gbnf->rules.data[i], "is not defined", p->in.err);
        }
    }
    return !p->build->has_failed;
}

bool gi_gbnf_read(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *text, size_t size,
                  const struct gi_grammar_names *names)
{
    struct parser p = {.gbnf = gbnf,
                       .build = builder,
                       .in = {.text = text, .size = size, .err = builder->err},
                       .names = names};
    gbnf->text = text;
    gbnf->size = size;
    if (builder->has_failed) {
        return false;
    }
    if (size > MAX_SIZE) {
        gi_error_set(builder->err, GLINFER_STATUS_INVALID_ARGUMENT,
                     "the grammar has %zu bytes, more than %u", size, MAX_SIZE);
        builder->has_failed = true;
    } else {
        builder->has_failed = !parse_all(&p);
    }
    return !builder->has_failed;
}

//-- the whole -------------------------------------------------------------------------------------

static const struct gi_gbnf_rule *rule_by_index(const struct gi_gbnf *gbnf, uint32_t index)
{
    for (size_t i = 0; i < gbnf->rules.count; i++) {
        if (gbnf->rules.data[i].rule == index) {
            return &gbnf->rules.data[i];
        }
    }
    return NULL;
}

static bool is_endless(struct gi_grammar *grammar, uint32_t rule, struct glinfer_error *err)
{
    bool has_end;
    grammar->root = rule;
    return gi_grammar_cut_endless(grammar, &has_end, err) && !has_end;
}

// Cuts the alternatives that never end. Fails if a rule begins with itself, or no text ends.
static bool check(const struct gi_gbnf *gbnf, struct gi_grammar *grammar, uint32_t n_schemas,
                  const struct glinfer_error *dead, struct glinfer_error *err)
{
    uint32_t recursion;
    bool has_end;
    if (!gi_grammar_find_left_recursion(grammar, &recursion, err) ||
        !gi_grammar_cut_endless(grammar, &has_end, err)) {
        return false;
    }
    if (recursion == GI_NO_RECURSION && has_end) {
        return true;
    }
    const struct gi_gbnf_rule *rule = rule_by_index(gbnf, recursion);
    const struct gi_gbnf_rule *root = rule_by_index(gbnf, grammar->root);
    bool is_schema = !root;
    if (rule) {
        return fail_rule(gbnf, rule, "is left-recursive: it may begin with itself", err);
    }
    for (uint32_t i = 0; i < n_schemas && !is_schema; i++) {
        is_schema = is_endless(grammar, i, err);
    }
    if (is_schema) {
        return gi_error_set(err, dead->status, "%s", dead->message);
    }
    return fail_rule(gbnf, root,
                     has_end ? "leads to a repeated group that begins with itself"
                             : "never ends: each of its texts has another one within",
                     err);
}

struct gi_grammar *gi_gbnf_take(const struct gi_gbnf *gbnf, struct gi_builder *builder,
                                uint32_t root, uint32_t n_schemas, const struct glinfer_error *dead)
{
    if (!builder->has_failed && root == GI_GBNF_NO_RULE) {
        builder->has_failed = true;
        gi_error_set(builder->err, GLINFER_STATUS_INVALID_ARGUMENT,
                     "invalid grammar: missing rule 'root'");
    }
    struct gi_grammar *grammar = gi_builder_take(builder, root);
    if (grammar && !check(gbnf, grammar, n_schemas, dead, builder->err)) {
        gi_grammar_destroy(grammar);
        return NULL;
    }
    return grammar;
}
