#include "grammar/gbnf/grammar_syntax.h"

#include "base/array.h"
#include "grammar/gbnf/grammar_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 100, MAX_REPEAT = 10000 };

static const char purpose[] = "a grammar";

struct parser {
    struct gi_syntax *syntax;
    struct gi_reader in;
    const struct gi_grammar_names *names;
    int depth; // of groups and repetitions
};

void gi_syntax_finish(struct gi_syntax *syntax)
{
    free(syntax->nodes.data);
    free(syntax->rules.data);
    free(syntax->points.data);
    free(syntax->ranges.data);
    free(syntax->names.data);
    free(syntax->slots);
    memset(syntax, 0, sizeof(*syntax));
}

//-- rules by name ---------------------------------------------------------------------------------

static uint32_t *find_slot(const struct gi_syntax *syntax, const char *name, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    }
    size_t at = hash & (syntax->n_slots - 1);
    for (; syntax->slots[at]; at = (at + 1) & (syntax->n_slots - 1)) {
        const struct gi_syntax_rule *rule = &syntax->rules.data[syntax->slots[at] - 1];
        if (rule->name_size == size && memcmp(&syntax->names.data[rule->name], name, size) == 0) {
            break;
        }
    }
    return &syntax->slots[at];
}

static bool grow_slots(struct gi_syntax *syntax, struct glinfer_error *err)
{
    if (syntax->rules.count * 2 < syntax->n_slots) {
        return true;
    }
    const size_t n_slots = syntax->n_slots ? syntax->n_slots * 2 : 64;
    uint32_t *slots = gi_array_zeroed(n_slots, sizeof(*slots), purpose, err);
    if (!slots) {
        return false;
    }
    free(syntax->slots);
    syntax->slots = slots;
    syntax->n_slots = n_slots;
    for (uint32_t i = 0; i < syntax->rules.count; i++) {
        const struct gi_syntax_rule *rule = &syntax->rules.data[i];
        *find_slot(syntax, &syntax->names.data[rule->name], rule->name_size) = i + 1;
    }
    return true;
}

bool gi_syntax_rule_of(struct gi_syntax *syntax, const char *name, size_t size, uint32_t *rule,
                       struct glinfer_error *err)
{
    if (!grow_slots(syntax, err)) {
        return false;
    }
    uint32_t *slot = find_slot(syntax, name, size);
    if (!*slot) {
        const struct gi_syntax_rule made = {.name = (uint32_t)syntax->names.count,
                                            .name_size = (uint32_t)size,
                                            .body = GI_SYNTAX_NONE,
                                            .at = GI_SYNTAX_NONE};
        if (!GI_ARRAY_RESERVE(&syntax->names, made.name + size, purpose, err) ||
            !GI_ARRAY_PUSH(&syntax->rules, purpose, err, made)) {
            return false;
        }
        memcpy(&syntax->names.data[made.name], name, size);
        syntax->names.count += size;
        *slot = (uint32_t)syntax->rules.count;
    }
    *rule = *slot - 1;
    return true;
}

//-- items -----------------------------------------------------------------------------------------

static bool add_node(struct parser *p, struct gi_syntax_node node, uint32_t *index)
{
    *index = (uint32_t)p->syntax->nodes.count;
    node.next = GI_SYNTAX_NONE;
    return GI_ARRAY_PUSH(&p->syntax->nodes, purpose, p->in.err, node);
}

static bool parse_literal(struct parser *p, uint32_t *node)
{
    const size_t begin = p->in.at++, first = p->syntax->points.count;
    while (gi_reader_peek(&p->in) != '"') {
        uint32_t code;
        if (gi_reader_peek(&p->in) < 0 || gi_reader_peek(&p->in) == '\n') {
            return gi_reader_fail_at(&p->in, begin, "this literal has no closing quote");
        }
        if (!gi_reader_take_char(&p->in, &code) ||
            !GI_ARRAY_PUSH(&p->syntax->points, purpose, p->in.err, code)) {
            return false;
        }
    }
    p->in.at++;
    return add_node(p,
                    (struct gi_syntax_node){.kind = GI_SYNTAX_LITERAL,
                                            .a = (uint32_t)first,
                                            .b = (uint32_t)(p->syntax->points.count - first)},
                    node);
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
    return range->lo <= range->hi || gi_reader_fail_at(&p->in, begin, "this range runs backwards");
}

// Adds the class of the ranges from first on, normalised and negated if asked.
static bool add_class(struct parser *p, size_t begin, size_t first, bool is_negated, uint32_t *node)
{
    struct gi_syntax *syntax = p->syntax;
    size_t count = syntax->ranges.count - first;
    if (!GI_ARRAY_RESERVE(&syntax->ranges, first + 2 * count + 6, purpose, p->in.err)) {
        return false;
    }
    struct gi_code_range *ranges = &syntax->ranges.data[first];
    count = gi_code_ranges_normalise(ranges, count);
    if (is_negated) {
        struct gi_code_range *inverse = &ranges[count + 1];
        const size_t n = gi_code_ranges_invert(ranges, count, inverse);
        memmove(ranges, inverse, n * sizeof(*ranges));
        count = n;
    }
    syntax->ranges.count = first + count;
    if (count == 0) {
        return gi_reader_fail_at(&p->in, begin, "no character is in this class");
    }
    return add_node(p,
                    (struct gi_syntax_node){
                        .kind = GI_SYNTAX_CLASS, .a = (uint32_t)first, .b = (uint32_t)count},
                    node);
}

static bool parse_class(struct parser *p, uint32_t *node)
{
    const size_t begin = p->in.at++, first = p->syntax->ranges.count;
    const bool is_negated = gi_reader_take(&p->in, "^");
    while (gi_reader_peek(&p->in) != ']') {
        struct gi_code_range range;
        if (gi_reader_peek(&p->in) < 0 || gi_reader_peek(&p->in) == '\n') {
            return gi_reader_fail_at(&p->in, begin, "this class has no closing bracket");
        }
        if (!parse_range(p, &range) ||
            !GI_ARRAY_PUSH(&p->syntax->ranges, purpose, p->in.err, range)) {
            return false;
        }
    }
    p->in.at++;
    return add_class(p, begin, first, is_negated, node);
}

static bool parse_any(struct parser *p, uint32_t *node)
{
    p->in.at++;
    return add_class(p, p->in.at, p->syntax->ranges.count, true, node);
}

static bool parse_token(struct parser *p, uint32_t *node)
{
    const size_t begin = p->in.at;
    const bool is_negated = gi_reader_take(&p->in, "!");
    if (!gi_reader_take(&p->in, "<")) {
        return gi_reader_fail(&p->in, "'<' and a token have to follow '!'");
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
        if (!gi_reader_take_number(&p->in, (uint32_t)INT32_MAX, "a token's id has to stand here",
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
            return gi_reader_fail_at(&p->in, begin, "this token has no closing '>'");
        }
        const size_t text = begin + (is_negated ? 1 : 0);
        id = (uint32_t)p->names->find(p->names->user, p->in.text + text, p->in.at - text);
    }
    if (id >= (uint32_t)p->names->n_tokens) {
        return gi_reader_fail_at(&p->in, begin, "the vocabulary has no such token");
    }
    return add_node(p,
                    (struct gi_syntax_node){
                        .kind = is_negated ? GI_SYNTAX_NOT_TOKEN : GI_SYNTAX_TOKEN, .a = id},
                    node);
}

static bool parse_mention(struct parser *p, uint32_t *node)
{
    const size_t begin = p->in.at, size = gi_reader_take_name(&p->in);
    uint32_t index;
    if (!gi_syntax_rule_of(p->syntax, p->in.text + begin, size, &index, p->in.err)) {
        return false;
    }
    struct gi_syntax_rule *rule = &p->syntax->rules.data[index];
    if (rule->at == GI_SYNTAX_NONE) {
        rule->at = (uint32_t)begin;
    }
    return add_node(p, (struct gi_syntax_node){.kind = GI_SYNTAX_RULE, .a = index}, node);
}

static bool parse_choice(struct parser *p, bool is_nested, uint32_t *node);

static bool parse_group(struct parser *p, uint32_t *node)
{
    const size_t begin = p->in.at++;
    if (p->depth == MAX_DEPTH) {
        return gi_reader_fail_at(&p->in, begin, "groups are nested deeper than 100");
    }
    p->depth++;
    gi_reader_skip_space(&p->in, true);
    if (!parse_choice(p, true, node)) {
        return false;
    }
    p->depth--;
    return gi_reader_take(&p->in, ")") ||
           gi_reader_fail_at(&p->in, begin, "this group has no closing parenthesis");
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
        *most = GI_SYNTAX_ENDLESS;
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
           gi_reader_fail_at(&p->in, begin, "this repetition's bounds run backwards");
}

// Wraps *item in the repetition that stands here, if there is one.
static bool parse_repeat(struct parser *p, uint32_t *item, bool *is_repeat)
{
    uint32_t least = 0, most = GI_SYNTAX_ENDLESS;
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
    return add_node(
        p, (struct gi_syntax_node){.kind = GI_SYNTAX_REPEAT, .a = least, .b = most, .child = *item},
        item);
}

static bool parse_item(struct parser *p, uint32_t *node)
{
    switch (gi_reader_peek(&p->in)) {
    case '"':
        return parse_literal(p, node);
    case '[':
        return parse_class(p, node);
    case '.':
        return parse_any(p, node);
    case '(':
        return parse_group(p, node);
    case '<':
    case '!':
        return parse_token(p, node);
    default:
        return parse_mention(p, node);
    }
}

static bool begins_item(int byte)
{
    return gi_reader_is_name_byte(byte) || (byte > 0 && strchr("\"[.(<!", byte));
}

static bool parse_sequence(struct parser *p, bool is_nested, uint32_t *node)
{
    const struct gi_syntax_node made = {.kind = GI_SYNTAX_SEQUENCE, .child = GI_SYNTAX_NONE};
    uint32_t last = GI_SYNTAX_NONE;
    if (!add_node(p, made, node)) {
        return false;
    }
    while (begins_item(gi_reader_peek(&p->in))) {
        uint32_t item;
        bool is_repeat = true;
        const int depth = p->depth; // repetitions of repetitions nest, too
        if (!parse_item(p, &item)) {
            return false;
        }
        gi_reader_skip_space(&p->in, is_nested);
        while (is_repeat) {
            if (p->depth++ > MAX_DEPTH) {
                return gi_reader_fail(&p->in, "repetitions are nested deeper than 100");
            }
            if (!parse_repeat(p, &item, &is_repeat)) {
                return false;
            }
            gi_reader_skip_space(&p->in, is_nested);
        }
        p->depth = depth;
        struct gi_syntax_node *nodes = p->syntax->nodes.data;
        *(last == GI_SYNTAX_NONE ? &nodes[*node].child : &nodes[last].next) = item;
        last = item;
    }
    return true;
}

static bool parse_choice(struct parser *p, bool is_nested, uint32_t *node)
{
    const struct gi_syntax_node made = {.kind = GI_SYNTAX_CHOICE, .child = GI_SYNTAX_NONE};
    uint32_t last = GI_SYNTAX_NONE;
    if (!add_node(p, made, node)) {
        return false;
    }
    do {
        uint32_t sequence;
        gi_reader_skip_space(&p->in, last != GI_SYNTAX_NONE || is_nested);
        if (!parse_sequence(p, is_nested, &sequence)) {
            return false;
        }
        struct gi_syntax_node *nodes = p->syntax->nodes.data;
        *(last == GI_SYNTAX_NONE ? &nodes[*node].child : &nodes[last].next) = sequence;
        last = sequence;
    } while (gi_reader_take(&p->in, "|"));
    return true;
}

//-- rules -----------------------------------------------------------------------------------------

static bool parse_rule(struct parser *p)
{
    const size_t begin = p->in.at, size = gi_reader_take_name(&p->in);
    uint32_t index, body;
    if (size == 0) {
        return gi_reader_fail(&p->in,
                              "the name of a rule, of letters, digits and '-', has to stand here");
    }
    if (!gi_syntax_rule_of(p->syntax, p->in.text + begin, size, &index, p->in.err)) {
        return false;
    }
    gi_reader_skip_space(&p->in, false);
    if (!gi_reader_take(&p->in, "::=")) {
        return gi_reader_fail(&p->in, "\"::=\" has to stand here");
    }
    if (p->syntax->rules.data[index].body != GI_SYNTAX_NONE) {
        return gi_reader_fail_at(&p->in, begin, "a rule of this name is there already");
    }
    gi_reader_skip_space(&p->in, true);
    p->depth = 0;
    if (!parse_choice(p, false, &body)) {
        return false;
    }
    struct gi_syntax_rule *rule = &p->syntax->rules.data[index];
    rule->body = body;
    rule->at = (uint32_t)begin;
    if (gi_reader_peek(&p->in) >= 0 && gi_reader_peek(&p->in) != '\n' &&
        gi_reader_peek(&p->in) != '\r') {
        return gi_reader_fail(&p->in, "this is not understood: the rule's line should end here");
    }
    gi_reader_skip_space(&p->in, true);
    return true;
}

bool gi_syntax_fail(const struct gi_syntax *syntax, const char *text, size_t size, uint32_t rule,
                    const char *what, struct glinfer_error *err)
{
    const struct gi_reader in = {.text = text, .size = size, .err = err};
    const struct gi_syntax_rule *found = &syntax->rules.data[rule];
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "the rule '%.*s' %s",
             found->name_size < 100 ? (int)found->name_size : 100, &syntax->names.data[found->name],
             what);
    return gi_reader_fail_at(&in, found->at, sentence);
}

static bool check_rules(struct parser *p)
{
    const struct gi_syntax *syntax = p->syntax;
    bool has_root = false;
    for (uint32_t i = 0; i < syntax->rules.count; i++) {
        const struct gi_syntax_rule *rule = &syntax->rules.data[i];
        has_root |= rule->name_size == 4 && memcmp(&syntax->names.data[rule->name], "root", 4) == 0;
        if (rule->body == GI_SYNTAX_NONE) {
            return gi_syntax_fail(syntax, p->in.text, p->in.size, i, "is not defined", p->in.err);
        }
    }
    return has_root || gi_error_set(p->in.err, GLINFER_STATUS_INVALID_ARGUMENT,
                                    "grammar: no rule is named 'root', which every grammar needs");
}

bool gi_syntax_parse(struct gi_syntax *syntax, const char *text, size_t size,
                     const struct gi_grammar_names *names, struct glinfer_error *err)
{
    struct parser p = {
        .syntax = syntax, .in = {.text = text, .size = size, .err = err}, .names = names};
    if (size > GI_SYNTAX_MAX_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the grammar has %zu bytes, more than %u", size, GI_SYNTAX_MAX_SIZE);
    }
    gi_reader_skip_space(&p.in, true);
    while (p.in.at < size) {
        if (!parse_rule(&p)) {
            return false;
        }
    }
    return check_rules(&p);
}
