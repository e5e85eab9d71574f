#include "grammar/schema/schema_pattern.h"

#include "grammar/gbnf/char_automaton.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 40, MAX_RANGES = 256 };

struct pattern {
    struct gi_schema_writer *writer;
    const char *text;
    size_t at, end; // end: of the text between ^ and $
    int depth;
};

struct char_set {
    struct gi_code_range ranges[MAX_RANGES + 8];
    size_t count;
};

static void refuse(struct pattern *p, const char *what)
{
    gi_schema_refuse(p->writer, "'pattern', at byte %zu: %s", p->at, what);
    p->at = p->end;
}

static int peek(const struct pattern *p)
{
    return p->at < p->end ? (uint8_t)p->text[p->at] : -1;
}

static bool take(struct pattern *p, const char *word)
{
    const size_t size = strlen(word);
    if (p->end - p->at < size || memcmp(p->text + p->at, word, size) != 0) {
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

// Adds what \d, \w or \s stand for, or all but that for capitals. False for other letters.
static bool add_named(struct pattern *p, struct char_set *set, int letter)
{
    struct char_set named = {.count = 0};
    switch (letter | 0x20) {
    case 'd':
        add_range(p, &named, '0', '9');
        break;
    case 'w':
        add_range(p, &named, '0', '9');
        add_range(p, &named, 'A', 'Z');
        add_range(p, &named, 'a', 'z');
        add_range(p, &named, '_', '_');
        break;
    case 's':
        add_range(p, &named, '\t', '\r');
        add_range(p, &named, ' ', ' ');
        break;
    default:
        return false;
    }
    if (letter < 'a') {
        invert(&named);
    }
    for (size_t i = 0; i < named.count; i++) {
        add_range(p, set, named.ranges[i].lo, named.ranges[i].hi);
    }
    return true;
}

// Writes one character of a JSON string that is in the set: plain ones as a class, those that JSON
// escapes by their letters.
static void write_set(struct pattern *p, struct char_set *set)
{
    static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    char escapes[sizeof(letters)] = {0};
    size_t n_escapes = 0;
    set->count = gi_code_ranges_normalise(set->ranges, set->count);
    for (size_t k = 0; codes[k]; k++) {
        for (size_t i = 0; i < set->count; i++) {
            if (set->ranges[i].lo <= (uint8_t)codes[k] && (uint8_t)codes[k] <= set->ranges[i].hi) {
                escapes[n_escapes++] = letters[k];
            }
        }
    }
    invert(set); // what is neither out of the set nor in need of an escape
    static const struct gi_code_range not_plain[] = {
        {0,    0x1f},
        {'"',  '"' },
        {'\\', '\\'},
        {0x7f, 0x7f}
    };
    for (size_t i = 0; i < sizeof(not_plain) / sizeof(not_plain[0]); i++) {
        add_range(p, set, not_plain[i].lo, not_plain[i].hi);
    }
    invert(set);
    if (set->count + n_escapes == 0) {
        refuse(p, "no character of a JSON string is in this class");
        return;
    }
    gi_schema_write(p->writer, "(");
    if (set->count > 0) {
        gi_schema_write(p->writer, "[");
        for (size_t i = 0; i < set->count; i++) {
            gi_schema_write_char(p->writer, set->ranges[i].lo);
            gi_schema_write(p->writer, "-");
            gi_schema_write_char(p->writer, set->ranges[i].hi);
        }
        gi_schema_write(p->writer, "]%s", n_escapes > 0 ? " | " : "");
    }
    if (n_escapes > 0) {
        gi_schema_write(p->writer, "\"\\\\\" [");
        for (size_t i = 0; i < n_escapes; i++) {
            gi_schema_write_char(p->writer, (uint8_t)escapes[i]);
        }
        gi_schema_write(p->writer, "]");
    }
    gi_schema_write(p->writer, ")");
}

//-- characters ------------------------------------------------------------------------------------

static uint32_t take_utf8(struct pattern *p) // the text was checked
{
    uint32_t code = (uint8_t)p->text[p->at++];
    if (code >= 0xc0) {
        code &= code < 0xe0 ? 0x1f : code < 0xf0 ? 0x0f : 0x07;
        while ((peek(p) & 0xc0) == 0x80 && peek(p) > 0) {
            code = code << 6 | (uint32_t)(p->text[p->at++] & 0x3f);
        }
    }
    return code;
}

static uint32_t take_hex(struct pattern *p, int n_digits)
{
    char digits[5] = {0};
    for (int i = 0; i < n_digits; i++) {
        const int byte = peek(p);
        if (byte <= 0 || !strchr("0123456789abcdefABCDEF", byte)) {
            refuse(p, "\\x takes 2 hexadecimal digits, \\u 4");
            return 0;
        }
        digits[i] = (char)byte;
        p->at++;
    }
    return (uint32_t)strtoul(digits, NULL, 16);
}

// Adds the character or the characters that stand here, behind a backslash too; sets *code to the
// one, to UINT32_MAX if it is a named set.
static void take_member(struct pattern *p, struct char_set *set, uint32_t *code)
{
    static const char from[] = "nrtfv0", to[] = "\n\r\t\f\v";
    *code = UINT32_MAX;
    if (peek(p) != '\\') {
        *code = take_utf8(p);
        return;
    }
    p->at++;
    const int letter = peek(p);
    if (letter < 0) {
        refuse(p, "a backslash at the end");
    } else if (add_named(p, set, letter)) {
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

static void parse_class(struct pattern *p)
{
    struct char_set set = {.count = 0};
    const bool is_negated = take(p, "^");
    while (peek(p) != ']' && !p->writer->has_failed) {
        uint32_t lo, hi;
        if (peek(p) < 0) {
            refuse(p, "a class has no closing bracket");
            return;
        }
        take_member(p, &set, &lo);
        hi = lo;
        if (peek(p) == '-' && p->at + 1 < p->end && p->text[p->at + 1] != ']') {
            p->at++;
            take_member(p, &set, &hi);
            if (lo > hi || hi == UINT32_MAX) {
                refuse(p, "this is no range of characters");
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
    if (!p->writer->has_failed) {
        write_set(p, &set);
    }
}

static void parse_char(struct pattern *p)
{
    struct char_set set = {.count = 0};
    uint32_t code;
    if (take(p, ".")) {
        add_range(p, &set, '\n', '\n');
        add_range(p, &set, '\r', '\r');
        add_range(p, &set, 0x2028, 0x2029);
        invert(&set);
    } else {
        take_member(p, &set, &code);
        if (code != UINT32_MAX) {
            add_range(p, &set, code, code);
        }
    }
    if (!p->writer->has_failed) {
        write_set(p, &set);
    }
}

//-- structure -------------------------------------------------------------------------------------

static void parse_choice(struct pattern *p, bool is_group);

static void parse_group(struct pattern *p)
{
    if (take(p, "?") && !take(p, ":")) {
        refuse(p, "groups that begin with (? other than (?: are not supported");
        return;
    }
    if (p->depth++ == MAX_DEPTH) {
        refuse(p, "groups are nested deeper than 40");
        return;
    }
    gi_schema_write(p->writer, "(");
    parse_choice(p, true);
    if (!take(p, ")")) {
        refuse(p, "a group has no closing parenthesis");
    }
    gi_schema_write(p->writer, ")");
    p->depth--;
}

static void parse_bounds(struct pattern *p)
{
    char *end;
    const char *text = p->text + p->at;
    const bool has_digit = *text >= '0' && *text <= '9';
    const unsigned long least = has_digit ? strtoul(text, &end, 10) : ULONG_MAX;
    unsigned long most = least;
    if (has_digit && *end == ',') {
        end++;
        most = *end >= '0' && *end <= '9' ? strtoul(end, &end, 10) : GI_SCHEMA_MAX_COUNT + 1ul;
    }
    if (!has_digit || *end != '}' || least > GI_SCHEMA_MAX_COUNT ||
        most > GI_SCHEMA_MAX_COUNT + 1ul || least > most) {
        refuse(p, "this is no repetition of at most 10000");
        return;
    }
    p->at = (size_t)(end - p->text) + 1;
    if (most > GI_SCHEMA_MAX_COUNT) {
        gi_schema_write(p->writer, "{%lu,}", least);
    } else {
        gi_schema_write(p->writer, "{%lu,%lu}", least, most);
    }
}

static void parse_repeat(struct pattern *p)
{
    const int byte = peek(p);
    if (byte == '*' || byte == '+' || byte == '?') {
        p->at++;
        gi_schema_write(p->writer, "%c", byte);
    } else if (take(p, "{")) {
        parse_bounds(p);
    } else {
        return;
    }
    take(p, "?"); // fewest first: the same texts
    const int next = peek(p);
    if (next == '*' || next == '+' || next == '{') {
        refuse(p, "a repetition of a repetition needs a group");
    }
}

static void parse_item(struct pattern *p)
{
    const int byte = peek(p);
    if (take(p, "(")) {
        parse_group(p);
    } else if (take(p, "[")) {
        parse_class(p);
    } else if (strchr("^$*+?{})]", byte)) {
        refuse(p, "this character is not supported here; a backslash makes it text");
    } else {
        parse_char(p);
    }
    parse_repeat(p);
    gi_schema_write(p->writer, " ");
}

static void parse_choice(struct pattern *p, bool is_group)
{
    while (p->at < p->end && !p->writer->has_failed) {
        if (is_group && peek(p) == ')') {
            return;
        }
        if (take(p, "|")) {
            if (!is_group) {
                p->at--;
                refuse(p, "'|' outside of a group is not supported");
            }
            gi_schema_write(p->writer, "| ");
        } else {
            parse_item(p);
        }
    }
}

void gi_schema_write_pattern(struct gi_schema_writer *writer, const cJSON *pattern)
{
    const char *text = cJSON_IsString(pattern) ? pattern->valuestring : "";
    const size_t size = strlen(text);
    size_t n_slashes = 0;
    while (size > n_slashes + 1 && text[size - 2 - n_slashes] == '\\') {
        n_slashes++;
    }
    if (size < 2 || text[0] != '^' || text[size - 1] != '$' || n_slashes % 2) {
        gi_schema_refuse(writer, "'pattern' without ^ at its begin and $ at its end is not "
                                 "supported");
        return;
    }
    struct pattern p = {.writer = writer, .text = text, .at = 1, .end = size - 1};
    gi_schema_write(writer, "\"\\\"\" (");
    parse_choice(&p, false);
    gi_schema_write(writer, ") \"\\\"\"");
}
