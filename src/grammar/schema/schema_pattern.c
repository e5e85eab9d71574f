#include "grammar/schema/schema_pattern.h"

#include "base/utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 40, MAX_RANGES = 256, MAX_NODES = 60000, MAX_COUNT = 10000, UNSET = 0 };

struct pattern {
    struct gi_schema_compiler *c;
    const char *text;
    size_t at;
    int depth;
    bool is_wide, has_failed, has_choice; // has_choice: outside of groups
    struct gi_nfa nfa;
};

struct char_set {
    struct gi_code_range ranges[MAX_RANGES + 16];
    size_t count;
};

// A part of the automaton: it goes on at the next of node end. Its nodes stand together.
struct part {
    uint32_t start, end;
};

static void refuse(struct pattern *p, const char *what)
{
    if (!p->has_failed) {
        gi_schema_refuse(p->c, "'pattern', at byte %zu: %s", p->at, what);
    }
    p->has_failed = true;
}

static int peek(const struct pattern *p)
{
    return (uint8_t)p->text[p->at]; // 0: the end
}

static bool take(struct pattern *p, const char *word)
{
    const size_t size = strlen(word);
    if (p->has_failed || strncmp(p->text + p->at, word, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

//-- sets ------------------------------------------------------------------------------------------

static void add_range(struct pattern *p, struct char_set *set, uint32_t lo, uint32_t hi)
{
    if (set->count == MAX_RANGES) {
        refuse(p, "a class of more than 256 ranges is not supported");
        return;
    }
    set->ranges[set->count++] = (struct gi_code_range){lo, hi};
}

static void invert(struct char_set *set)
{
    struct char_set out;
    set->count = gi_code_ranges_normalise(set->ranges, set->count);
    out.count = gi_code_ranges_invert(set->ranges, set->count, out.ranges);
    *set = out;
}

// Adds the characters of \d, \w or \s, or all others for capitals. Beyond ASCII readers differ:
// is_wide takes in all that any of them has. False for other letters.
static bool add_named(struct pattern *p, struct char_set *set, int letter, bool is_wide)
{
    static const struct gi_code_range spaces[] = {
        {0x1c, 0x1f},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
        {0x180e, 0x180e}, {0x2000, 0x200b}, {0x2028, 0x2029}, {0x202f, 0x202f},
        {0x205f, 0x2060}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
    };
    struct char_set named = {.count = 0};
    const bool is_inverted = letter < 'a';
    const bool has_more = is_wide != is_inverted;
    switch (letter | 0x20) {
    case 'd':
        add_range(p, &named, '0', '9');
        if (has_more) {
            add_range(p, &named, 0x660, GI_CODE_MAX); // the first digits beyond ASCII
        }
        break;
    case 'w':
        add_range(p, &named, '0', '9');
        add_range(p, &named, 'A', 'Z');
        add_range(p, &named, 'a', 'z');
        add_range(p, &named, '_', '_');
        if (has_more) {
            add_range(p, &named, 0x80, GI_CODE_MAX);
        }
        break;
    case 's':
        add_range(p, &named, '\t', '\r');
        add_range(p, &named, ' ', ' ');
        for (size_t i = 0; has_more && i < sizeof(spaces) / sizeof(spaces[0]); i++) {
            add_range(p, &named, spaces[i].lo, spaces[i].hi);
        }
        break;
    default:
        return false;
    }
    if (is_inverted) {
        invert(&named);
    }
    for (size_t i = 0; i < named.count; i++) {
        add_range(p, set, named.ranges[i].lo, named.ranges[i].hi);
    }
    return true;
}

//-- nodes -----------------------------------------------------------------------------------------

static uint32_t add_node(struct pattern *p, struct gi_nfa_node node)
{
    if (p->has_failed) {
        return 0;
    }
    if (p->nfa.nodes.count == MAX_NODES) {
        refuse(p, "the pattern is too large");
        return 0;
    }
    const uint32_t index = gi_nfa_add(p->c, &p->nfa, node);
    p->has_failed = p->c->build.has_failed;
    return index;
}

// Adds a node that goes on at once.
static uint32_t add_join(struct pattern *p, uint32_t next, uint32_t other)
{
    return add_node(p, (struct gi_nfa_node){.kind = GI_NFA_SPLIT, .next = next, .other = other});
}

static void lead(struct pattern *p, uint32_t node, uint32_t next)
{
    if (!p->has_failed) {
        p->nfa.nodes.data[node].next = next;
        if (p->nfa.nodes.data[node].kind == GI_NFA_SPLIT) {
            p->nfa.nodes.data[node].other = next;
        }
    }
}

static struct part add_empty(struct pattern *p)
{
    const uint32_t node = add_join(p, UNSET, UNSET);
    return (struct part){node, node};
}

static struct part add_set(struct pattern *p, struct char_set *set)
{
    struct gi_nfa_node node = {.kind = GI_NFA_CLASS, .first = (uint32_t)p->nfa.ranges.count};
    set->count = gi_code_ranges_normalise(set->ranges, set->count);
    node.count = (uint32_t)set->count;
    for (size_t i = 0; !p->has_failed && i < set->count; i++) {
        p->has_failed = !GI_SCHEMA_PUSH(p->c, &p->nfa.ranges, set->ranges[i]);
    }
    const uint32_t index = add_node(p, node);
    return (struct part){index, index};
}

static struct part add_any(struct pattern *p)
{
    struct char_set set = {.count = 0};
    add_range(p, &set, 0, GI_CODE_MAX);
    const struct part any = add_set(p, &set);
    const uint32_t loop = add_join(p, any.start, UNSET);
    lead(p, any.end, loop);
    const uint32_t end = add_join(p, UNSET, UNSET);
    if (!p->has_failed) {
        p->nfa.nodes.data[loop].other = end;
    }
    return (struct part){loop, end};
}

static struct part chain(struct pattern *p, struct part a, struct part b)
{
    lead(p, a.end, b.start);
    return (struct part){a.start, b.end};
}

// Copies the nodes from first on, which are those of a part.
static struct part copy_part(struct pattern *p, struct part part, uint32_t first, uint32_t end)
{
    const uint32_t offset = p->has_failed ? 0 : (uint32_t)p->nfa.nodes.count - first;
    for (uint32_t i = first; i < end && !p->has_failed; i++) {
        struct gi_nfa_node node = p->nfa.nodes.data[i];
        node.next += offset;
        node.other += offset;
        add_node(p, node);
    }
    return (struct part){part.start + offset, part.end + offset};
}

//-- characters ------------------------------------------------------------------------------------

static uint32_t take_hex(struct pattern *p, int n_digits)
{
    char digits[5] = {0};
    for (int i = 0; i < n_digits; i++) {
        const int byte = peek(p);
        if (byte == 0 || !strchr("0123456789abcdefABCDEF", byte)) {
            refuse(p, "\\x takes 2 hexadecimal digits, \\u 4");
            return 0;
        }
        digits[i] = (char)byte;
        p->at++;
    }
    return (uint32_t)strtoul(digits, NULL, 16);
}

static uint32_t take_code(struct pattern *p)
{
    const char *at = p->text + p->at;
    const uint32_t code = gi_utf8_take(&at);
    p->at = (size_t)(at - p->text);
    return code;
}

// Adds the character or the characters that stand here, after a backslash too; sets *code to the
// one, to UINT32_MAX if it is a named set.
static void take_member(struct pattern *p, struct char_set *set, bool is_wide, uint32_t *code)
{
    static const char from[] = "nrtfv0", to[] = "\n\r\t\f\v";
    *code = UINT32_MAX;
    if (peek(p) != '\\') {
        *code = take_code(p);
        return;
    }
    p->at++;
    const int letter = peek(p);
    if (letter == 0) {
        refuse(p, "unexpected backslash at the end");
    } else if (add_named(p, set, letter, is_wide)) {
        p->at++;
    } else if (strchr(from, letter)) {
        *code = (uint8_t)to[strchr(from, letter) - from];
        p->at++;
    } else if (letter == 'x' || letter == 'u') {
        p->at++;
        *code = take_hex(p, letter == 'x' ? 2 : 4);
    } else if (letter < 0x80 && !((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z') &&
               !(letter >= '1' && letter <= '9')) {
        *code = (uint32_t)letter;
        p->at++;
    } else {
        refuse(p, "this escape is not supported");
    }
}

static struct part parse_class(struct pattern *p)
{
    struct char_set set = {.count = 0};
    const bool is_negated = take(p, "^"), is_wide = p->is_wide != is_negated;
    while (peek(p) != ']' && !p->has_failed) {
        uint32_t lo, hi;
        if (peek(p) == 0) {
            refuse(p, "missing closing bracket of a class");
            break;
        }
        take_member(p, &set, is_wide, &lo);
        hi = lo;
        if (peek(p) == '-' && p->text[p->at + 1] && p->text[p->at + 1] != ']') {
            p->at++;
            take_member(p, &set, is_wide, &hi);
            if (lo > hi || hi == UINT32_MAX) {
                refuse(p, "this is not a range of characters");
            }
        }
        if (lo != UINT32_MAX) {
            add_range(p, &set, lo, hi);
        }
    }
    p->at++;
    if (is_negated) {
        invert(&set);
    }
    return add_set(p, &set);
}

static struct part parse_char(struct pattern *p)
{
    struct char_set set = {.count = 0};
    uint32_t code;
    if (take(p, ".")) {
        add_range(p, &set, '\n', '\n');
        if (!p->is_wide) {
            add_range(p, &set, '\r', '\r');
            add_range(p, &set, 0x2028, 0x2029);
        }
        invert(&set);
    } else {
        take_member(p, &set, p->is_wide, &code);
        if (code != UINT32_MAX) {
            add_range(p, &set, code, code);
        }
    }
    return add_set(p, &set);
}

//-- structure -------------------------------------------------------------------------------------

static struct part parse_choice(struct pattern *p);

static struct part parse_group(struct pattern *p)
{
    if (take(p, "?<") && peek(p) != '=' && peek(p) != '!') {
        while (peek(p) && !take(p, ">")) {
            p->at++;
        }
    } else if (take(p, "?") && !take(p, ":")) {
        refuse(p, "groups that begin with (? other than (?: are not supported here");
    }
    if (p->depth++ == MAX_DEPTH) {
        refuse(p, "groups are nested deeper than 40");
    }
    const struct part part = p->has_failed ? (struct part){0, 0} : parse_choice(p);
    if (!take(p, ")")) {
        refuse(p, "missing closing parenthesis of a group");
    }
    p->depth--;
    return part;
}

// Reads {least}, {least,} or {least,most} after the brace.
static void parse_bounds(struct pattern *p, unsigned long *least, unsigned long *most)
{
    char *end;
    const char *text = p->text + p->at;
    *least = strtoul(text, &end, 10);
    *most = *least;
    if (*end == ',') {
        end++;
        *most = *end >= '0' && *end <= '9' ? strtoul(end, &end, 10) : ULONG_MAX;
    }
    if (*end != '}' || *least > MAX_COUNT || (*most > MAX_COUNT && *most != ULONG_MAX) ||
        *least > *most) {
        refuse(p, "this is not a repetition of at most 10000");
        return;
    }
    p->at = (size_t)(end - p->text) + 1;
}

// Repeats a part, whose nodes begin at first.
static struct part repeat(struct pattern *p, struct part part, uint32_t first, unsigned long least,
                          unsigned long most)
{
    const uint32_t end = p->has_failed ? first : (uint32_t)p->nfa.nodes.count;
    struct part all = add_empty(p);
    const unsigned long n = most == ULONG_MAX ? least + 1 : most;
    const uint32_t exit = add_join(p, UNSET, UNSET);
    for (unsigned long i = 0; i < n && !p->has_failed; i++) {
        // The part itself is the last copy: the others are made from it before it is led on.
        const struct part copy = i + 1 < n ? copy_part(p, part, first, end) : part;
        if (i < least) {
            all = chain(p, all, copy);
            continue;
        }
        const uint32_t split = add_join(p, copy.start, exit);
        lead(p, all.end, split);
        all.end = copy.end;
        if (most == ULONG_MAX) { // the last
            lead(p, copy.end, split);
            all.end = exit;
        }
    }
    if (all.end != exit) {
        lead(p, all.end, exit);
    }
    return (struct part){all.start, exit};
}

static struct part parse_repeat(struct pattern *p, struct part part, uint32_t first)
{
    unsigned long least = 0, most = ULONG_MAX;
    if (take(p, "+")) {
        least = 1;
    } else if (take(p, "?")) {
        most = 1;
    } else if (peek(p) == '{' && p->text[p->at + 1] >= '0' && p->text[p->at + 1] <= '9') {
        p->at++;
        parse_bounds(p, &least, &most);
    } else if (!take(p, "*")) {
        return part;
    }
    take(p, "?"); // fewest first: the same texts
    const int next = peek(p);
    if (next == '*' || next == '+') {
        refuse(p, "a repetition of a repetition needs a group");
    }
    return repeat(p, part, first, least, most);
}

static struct part parse_item(struct pattern *p)
{
    const int byte = peek(p);
    const uint32_t first = (uint32_t)p->nfa.nodes.count;
    struct part part;
    if (take(p, "^") || take(p, "$")) {
        const uint32_t node =
            add_node(p, (struct gi_nfa_node){.kind = byte == '^' ? GI_NFA_BEGIN : GI_NFA_END});
        return (struct part){node, node};
    }
    if (take(p, "(")) {
        part = parse_group(p);
    } else if (take(p, "[")) {
        part = parse_class(p);
    } else if (strchr("*+?)", byte)) {
        refuse(p, "this character is not supported here; a backslash makes it text");
        return (struct part){0, 0};
    } else {
        part = parse_char(p);
    }
    return parse_repeat(p, part, first);
}

static struct part parse_choice(struct pattern *p)
{
    struct part all = add_empty(p), one = all;
    uint32_t exit = UNSET;
    bool has_exit = false;
    while (peek(p) && !(p->depth > 0 && peek(p) == ')') && !p->has_failed) {
        if (!take(p, "|")) {
            one = chain(p, one, parse_item(p));
            continue;
        }
        if (!has_exit) {
            exit = add_join(p, UNSET, UNSET);
            has_exit = true;
        }
        p->has_choice = p->has_choice || p->depth == 0;
        lead(p, one.end, exit);
        const struct part next = add_empty(p);
        const uint32_t split = add_join(p, all.start, next.start);
        all.start = split;
        one = (struct part){split, next.end};
    }
    if (!has_exit) {
        return (struct part){all.start, one.end};
    }
    lead(p, one.end, exit);
    return (struct part){all.start, exit};
}

// Returns the automaton of the texts that have the part within, from their beginning if
// is_from_begin.
static const struct gi_dfa *finish(struct pattern *p, struct part part, bool is_from_begin)
{
    if (!is_from_begin) {
        part = chain(p, add_any(p), part);
    }
    part = chain(p, part, add_any(p));
    lead(p, part.end, add_node(p, (struct gi_nfa_node){.kind = GI_NFA_MATCH}));
    p->nfa.start = part.start;
    const struct gi_dfa *dfa = p->has_failed ? NULL : gi_dfa_of_nfa(p->c, &p->nfa);
    gi_nfa_finish(&p->nfa);
    return dfa;
}

// Reads a lookahead after ^, an automaton of its own; sets *is_without if the text must not go on
// so.
static const struct gi_dfa *take_lookahead(struct pattern *p, bool *is_without)
{
    *is_without = p->text[p->at + 2] == '!';
    p->at += 3;
    p->depth++;
    p->is_wide = p->is_wide != *is_without;
    const struct part part = parse_choice(p);
    if (!take(p, ")")) {
        refuse(p, "missing closing parenthesis of a group");
    }
    const struct gi_dfa *dfa = finish(p, part, true);
    p->is_wide = p->is_wide != *is_without;
    p->depth--;
    return dfa;
}

const struct gi_dfa *gi_schema_pattern(struct gi_schema_compiler *c, const char *pattern,
                                       bool is_wide)
{
    struct pattern p = {.c = c, .text = pattern, .is_wide = is_wide};
    const struct gi_dfa *all = NULL;
    bool has_lookahead = false;
    p.at = pattern[0] == '^';
    while (p.at &&
           (strncmp(p.text + p.at, "(?=", 3) == 0 || strncmp(p.text + p.at, "(?!", 3) == 0)) {
        bool is_without;
        all = has_lookahead ? all : gi_dfa_of_lengths(c, 0, UINT32_MAX);
        has_lookahead = true;
        const struct gi_dfa *dfa = take_lookahead(&p, &is_without);
        all = gi_dfa_product(c, all, dfa, is_without);
    }
    p.at = has_lookahead ? p.at : 0;
    const struct part part = p.has_failed ? (struct part){0, 0} : parse_choice(&p);
    if (has_lookahead && p.has_choice) {
        refuse(&p, "'|' outside of a group is not supported beside lookahead");
    }
    const struct gi_dfa *dfa = finish(&p, part, has_lookahead);
    return has_lookahead ? gi_dfa_product(c, all, dfa, false) : dfa;
}
