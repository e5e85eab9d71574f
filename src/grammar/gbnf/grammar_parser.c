#include "grammar/gbnf/grammar_parser.h"

#include "base/utf8.h"

#include <string.h>

enum { MAX_DEPTH = 100, MAX_REPEAT = 10000, MAX_SIZE = 4 << 20 };

#define HEX "0123456789abcdefABCDEF"

struct parser {
    struct gi_gbnf *gbnf;
    struct gi_builder *build;
    const struct gi_grammar_names *names;
    const char *text; // borrowed, as gbnf has it
    size_t size, at;
    int depth; // of groups and repetitions
};

// Nodes for a part of a rule, the last of which is to be led on; first is GI_BUILD_NOTHING for the
// empty text.
struct part {
    uint32_t first, last;
};

static const struct part empty = {GI_BUILD_NOTHING, GI_BUILD_NOTHING};

//-- characters ------------------------------------------------------------------------------------

static void fail_at(struct parser *p, size_t at, const char *what)
{
    if (!p->build->has_failed) {
        p->build->has_failed = true;
        gi_gbnf_fail(p->gbnf, at, what, p->build->err);
    }
}

// Returns the byte that stands here, -1 at the end and after a failure, so that every loop ends.
static int peek(const struct parser *p)
{
    return p->at < p->size && !p->build->has_failed ? (uint8_t)p->text[p->at] : -1;
}

// Passes over a word if it stands here.
static bool take(struct parser *p, const char *word)
{
    const size_t size = strlen(word);
    const bool is_here = !p->build->has_failed && p->size - p->at >= size &&
                         memcmp(p->text + p->at, word, size) == 0;
    p->at += is_here ? size : 0;
    return is_here;
}

// Passes over a word; fails at `at` without it.
static void expect(struct parser *p, const char *word, size_t at, const char *what)
{
    if (!take(p, word)) {
        fail_at(p, at, what);
    }
}

// Passes over spaces and comments, over the ends of lines too if lines may end.
static void skip(struct parser *p, bool may_end)
{
    for (;; p->at++) {
        const int byte = peek(p);
        if (byte == '#') {
            while (peek(p) >= 0 && peek(p) != '\n' && peek(p) != '\r') {
                p->at++;
            }
            p->at--;
        } else if (!(byte == ' ' || byte == '\t' || (may_end && (byte == '\n' || byte == '\r')))) {
            return;
        }
    }
}

static bool is_name_byte(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-';
}

// Passes over a name; returns its size.
static size_t take_name(struct parser *p)
{
    const size_t begin = p->at;
    while (is_name_byte(peek(p))) {
        p->at++;
    }
    return p->at - begin;
}

static uint32_t take_hex(struct parser *p, size_t begin, int n_digits)
{
    uint32_t code = 0;
    for (int i = 0; i < n_digits; i++, p->at++) {
        const int byte = peek(p);
        const char *digit = byte > 0 ? strchr(HEX, byte) : NULL;
        if (!digit) {
            fail_at(p, begin, "\\x takes 2 hexadecimal digits, \\u 4 and \\U 8");
            return 0;
        }
        code = code << 4 | (uint32_t)(digit - HEX < 16 ? digit - HEX : digit - HEX - 6);
    }
    if (code > GI_CODE_MAX || (code >= 0xd800 && code < 0xe000)) {
        fail_at(p, begin, "invalid escape: not a Unicode character");
    }
    return code;
}

static uint32_t take_escape(struct parser *p)
{
    static const char from[] = "nrt\\\"[]-", to[] = "\n\r\t\\\"[]-";
    const size_t begin = p->at++;
    const int byte = peek(p);
    const char *found = byte > 0 ? strchr(from, byte) : NULL;
    p->at += byte >= 0;
    if (found) {
        return (uint8_t)to[found - from];
    }
    if (byte == 'x' || byte == 'u' || byte == 'U') {
        return take_hex(p, begin, byte == 'x' ? 2 : byte == 'u' ? 4 : 8);
    }
    fail_at(p, begin,
            "unknown escape; the escapes are \\n \\r \\t \\x \\u \\U \\\\ \\\" \\[ \\] \\-");
    return 0;
}

// Reads a character or an escape.
static uint32_t take_char(struct parser *p)
{
    uint32_t code = 0;
    if (peek(p) == '\\') {
        return take_escape(p);
    }
    const size_t size = gi_utf8_decode(p->text + p->at, p->size - p->at, &code);
    if (size == 0) {
        fail_at(p, p->at, "invalid UTF-8");
    }
    p->at += size;
    return code;
}

// Reads a decimal number of at most `most`; fails with `what`.
static uint32_t take_number(struct parser *p, uint32_t most, const char *what)
{
    const size_t begin = p->at;
    uint64_t value = 0;
    for (; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
        value = value * 10 + (uint64_t)(peek(p) - '0');
        value = value > UINT32_MAX ? UINT32_MAX : value;
    }
    if (p->at == begin || value > most) {
        fail_at(p, begin, what);
    }
    return (uint32_t)value;
}

//-- items -----------------------------------------------------------------------------------------

static struct part append(struct parser *p, struct part part, struct part next)
{
    if (part.first == GI_BUILD_NOTHING || next.first == GI_BUILD_NOTHING) {
        return part.first == GI_BUILD_NOTHING ? next : part;
    }
    gi_build_lead(p->build, part.last, next.first);
    return (struct part){part.first, next.last};
}

static struct part add_node(struct parser *p, enum gi_node_kind kind, uint32_t a)
{
    const uint32_t node = gi_build_node(p->build, kind, a, GI_BUILD_END);
    return (struct part){node, node};
}

static struct part add_class(struct parser *p, size_t begin, bool is_negated)
{
    const uint32_t node = gi_build_class(p->build, is_negated, GI_BUILD_END);
    if (node == GI_BUILD_NOTHING) {
        fail_at(p, begin, "empty character class");
    }
    return (struct part){node, node};
}

// True at the end of a literal or a class; fails if the line ends before it.
static bool is_closed(struct parser *p, int byte, size_t begin, const char *what)
{
    if (peek(p) < 0 || peek(p) == '\n') {
        fail_at(p, begin, what);
    }
    return p->build->has_failed || peek(p) == byte;
}

static struct part parse_literal(struct parser *p)
{
    const size_t begin = p->at++;
    struct part part = empty;
    while (!is_closed(p, '"', begin, "missing closing quote of a literal")) {
        const uint32_t code = take_char(p);
        gi_build_range(p->build, code, code);
        part = append(p, part, add_class(p, begin, false));
    }
    take(p, "\"");
    return part;
}

static struct part parse_class(struct parser *p)
{
    const size_t begin = p->at++;
    const bool is_negated = take(p, "^");
    while (!is_closed(p, ']', begin, "missing closing bracket of a class")) {
        const size_t at = p->at;
        const uint32_t lo = take_char(p);
        const bool is_range = peek(p) == '-' && p->at + 1 < p->size && p->text[p->at + 1] != ']';
        p->at += is_range;
        const uint32_t hi = is_range ? take_char(p) : lo;
        if (lo > hi) {
            fail_at(p, at, "invalid range: its end is before its beginning");
        }
        gi_build_range(p->build, lo, hi);
    }
    take(p, "]");
    return add_class(p, begin, is_negated);
}

// Returns the id of a token that is written as its text, and passes over it.
static uint32_t take_token_text(struct parser *p, size_t text, size_t begin)
{
    while (peek(p) >= 0 && peek(p) != '>' && peek(p) != '\n') {
        p->at++;
    }
    expect(p, ">", begin, "missing closing '>' of a token");
    return p->build->has_failed
               ? 0
               : (uint32_t)p->names->find(p->names->user, p->text + text, p->at - text);
}

static struct part parse_token(struct parser *p)
{
    const size_t begin = p->at;
    const bool is_negated = take(p, "!");
    const size_t text = p->at;
    uint32_t id;
    expect(p, "<", text, "expected '<' and a token after '!'");
    if (!p->names && !p->build->has_failed) {
        fail_at(p, begin,
                "tokens such as <text> and <[id]> are not supported here: the vocabulary is not "
                "known");
        if (p->build->err) {
            p->build->err->status = GLINFER_STATUS_UNSUPPORTED;
        }
    }
    if (take(p, "[")) {
        id = take_number(p, (uint32_t)INT32_MAX, "expected the id of a token");
        expect(p, "]>", p->at, "a token's id ends with \"]>\"");
    } else {
        id = take_token_text(p, text, begin);
    }
    if (!p->build->has_failed && id >= (uint32_t)p->names->n_tokens) {
        fail_at(p, begin, "unknown token");
    }
    return add_node(p, is_negated ? GI_NODE_NOT_TOKEN : GI_NODE_TOKEN, id);
}

static struct part parse_mention(struct parser *p)
{
    const size_t begin = p->at, size = take_name(p);
    uint32_t index;
    if (!gi_gbnf_add(p->gbnf, p->build, p->text + begin, size, &index)) {
        p->build->has_failed = true;
        return empty;
    }
    struct gi_gbnf_rule *rule = &p->gbnf->rules.data[index];
    rule->at = rule->at == UINT32_MAX ? (uint32_t)begin : rule->at;
    return add_node(p, GI_NODE_CALL, rule->rule);
}

static struct part parse_choice(struct parser *p, bool is_nested);

static struct part parse_group(struct parser *p)
{
    const size_t begin = p->at++;
    if (p->depth++ == MAX_DEPTH) {
        fail_at(p, begin, "groups are nested deeper than 100");
    }
    skip(p, true);
    const struct part part = p->build->has_failed ? empty : parse_choice(p, true);
    p->depth--;
    expect(p, ")", begin, "missing closing parenthesis of a group");
    return part;
}

//-- repetitions -----------------------------------------------------------------------------------

static void parse_bounds(struct parser *p, uint32_t *least, uint32_t *most)
{
    static const char wrong[] = "a repetition is {m}, {m,} or {m,n} of at most 10000";
    const size_t begin = p->at++;
    skip(p, true);
    *least = take_number(p, MAX_REPEAT, wrong);
    *most = *least;
    skip(p, true);
    if (take(p, ",")) {
        skip(p, true);
        *most = peek(p) == '}' ? GI_BUILD_ENDLESS : take_number(p, MAX_REPEAT, wrong);
        skip(p, true);
    }
    expect(p, "}", p->at, wrong);
    if (*least > *most) {
        fail_at(p, begin, "invalid repetition: the maximum is below the minimum");
    }
}

// Repeats a part, whose nodes were added since there were n_before.
static struct part repeat(struct parser *p, struct part part, size_t n_before, uint32_t least,
                          uint32_t most)
{
    struct gi_builder *build = p->build;
    struct gi_grammar *grammar = build->grammar;
    if (most == 0 || part.first == GI_BUILD_NOTHING) {
        return empty;
    }
    // A part of one node is copied; any other is a rule that is called.
    const struct gi_node one = grammar->nodes.data[part.first];
    const bool is_one = grammar->nodes.count == n_before + 1 && one.kind != GI_NODE_SPLIT;
    const bool is_optional = least == 0 && most == 1;
    uint32_t rule = one.a;
    if (is_one) {
        grammar->nodes.count--;
    } else if (!is_optional) {
        rule = gi_build_rule(build, part.first);
    }
    const uint32_t join = gi_build_joins(build, 1);
    if (is_optional && !is_one) {
        gi_build_lead(build, part.last, join);
        return (struct part){gi_build_either(build, part.first, join), join};
    }
    const enum gi_node_kind kind = is_one ? one.kind : GI_NODE_CALL;
    return (struct part){gi_build_repeat(build, kind, rule, least, most, join), join};
}

// Repeats a part as often as it is asked for here.
static struct part parse_repeats(struct parser *p, struct part part, size_t n_before,
                                 bool is_nested)
{
    const int depth = p->depth; // repetitions of repetitions nest, too
    while (!p->build->has_failed) {
        uint32_t least = 0, most = GI_BUILD_ENDLESS;
        if (p->depth++ > MAX_DEPTH) {
            fail_at(p, p->at, "repetitions are nested deeper than 100");
        }
        if (take(p, "+")) {
            least = 1;
        } else if (take(p, "?")) {
            most = 1;
        } else if (peek(p) == '{') {
            parse_bounds(p, &least, &most);
        } else if (!take(p, "*")) {
            break;
        }
        part = p->build->has_failed ? empty : repeat(p, part, n_before, least, most);
        skip(p, is_nested);
    }
    p->depth = depth;
    return part;
}

static struct part parse_item(struct parser *p)
{
    switch (peek(p)) {
    case '"':
        return parse_literal(p);
    case '[':
        return parse_class(p);
    case '.':
        return add_class(p, p->at++, true);
    case '(':
        return parse_group(p);
    case '<':
    case '!':
        return parse_token(p);
    default:
        return parse_mention(p);
    }
}

static bool begins_item(int byte)
{
    return is_name_byte(byte) || (byte > 0 && strchr("\"[.(<!", byte));
}

static struct part parse_sequence(struct parser *p, bool is_nested)
{
    struct part part = empty;
    while (begins_item(peek(p))) {
        const size_t n_before = p->build->grammar->nodes.count;
        const struct part item = parse_item(p);
        skip(p, is_nested);
        part = append(p, part, parse_repeats(p, item, n_before, is_nested));
    }
    return part;
}

static struct part parse_choice(struct parser *p, bool is_nested)
{
    skip(p, is_nested);
    struct part part = parse_sequence(p, is_nested);
    if (peek(p) != '|') {
        return part;
    }
    const uint32_t join = gi_build_joins(p->build, 1);
    part = append(p, part, (struct part){join, join});
    while (take(p, "|")) {
        skip(p, true);
        const struct part one = append(p, parse_sequence(p, is_nested), (struct part){join, join});
        part.first = gi_build_either(p->build, part.first, one.first);
        part.last = join;
    }
    return part;
}

//-- rules -----------------------------------------------------------------------------------------

static void parse_rule(struct parser *p)
{
    const size_t begin = p->at, size = take_name(p);
    uint32_t index;
    if (size == 0) {
        fail_at(p, begin, "expected the name of a rule: letters, digits and '-'");
        return;
    }
    if (!gi_gbnf_add(p->gbnf, p->build, p->text + begin, size, &index)) {
        p->build->has_failed = true;
        return;
    }
    skip(p, false);
    expect(p, "::=", p->at, "expected \"::=\"");
    if (p->gbnf->rules.data[index].is_defined) {
        fail_at(p, begin, "duplicate rule");
    }
    skip(p, true);
    p->depth = 0;
    const uint32_t first = parse_choice(p, false).first;
    struct gi_gbnf_rule *rule = &p->gbnf->rules.data[index];
    gi_build_set_rule(p->build, rule->rule, first == GI_BUILD_NOTHING ? GI_BUILD_END : first);
    rule->is_defined = true;
    rule->at = (uint32_t)begin;
    if (peek(p) >= 0 && peek(p) != '\n' && peek(p) != '\r') {
        fail_at(p, p->at, "unexpected text after a rule");
    }
    skip(p, true);
}

static void parse_all(struct parser *p)
{
    skip(p, true);
    while (peek(p) >= 0) {
        parse_rule(p);
    }
    for (uint32_t i = 0; i < p->gbnf->rules.count && !p->build->has_failed; i++) {
        if (!p->gbnf->rules.data[i].is_defined) {
            gi_gbnf_fail_rule(p->gbnf, &p->gbnf->rules.data[i], "is not defined", p->build->err);
            p->build->has_failed = true;
        }
    }
}

bool gi_gbnf_read(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *text, size_t size,
                  const struct gi_grammar_names *names)
{
    struct parser p = {.gbnf = gbnf, .build = builder, .names = names, .text = text, .size = size};
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
        parse_all(&p);
    }
    return !builder->has_failed;
}
