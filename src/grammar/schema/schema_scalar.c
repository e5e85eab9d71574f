#include "grammar/schema/schema_scalar.h"

#include "grammar/schema/schema_pattern.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTEGER_MAX 9007199254740992.0 // JSON numbers are exact up to here

void gi_schema_write_shared(struct gi_schema_writer *writer)
{
    static const char *const rules[] = {
        "ws ::= \" \"? | \"\\n\" [ \\t]{0,20}",
        "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"",
        "object ::= \"{\" ws (member (\",\" ws member)*)? \"}\"",
        "member ::= string \":\" ws value ws",
        "array ::= \"[\" ws (value ws (\",\" ws value ws)*)? \"]\"",
        "string ::= \"\\\"\" char* \"\\\"\"",
        "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" code)",
        "code ::= [0-9a-cefA-CEF] hex{3} | [dD] [0-7] hex{2} | "
        "[dD] [89abAB] hex{2} \"\\\\u\" [dD] [c-fC-F] hex{2}",
        "hex ::= [0-9a-fA-F]",
        "key-char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" [\"\\\\bfnrt]",
        "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?",
        "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})",
        "date ::= year \"-\" (\"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8]) | "
        "(\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | "
        "(\"0\" [13578] | \"1\" [02]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01])) | "
        "leap-year \"-02-29\"",
        "year ::= [0-9]{3} [1-9] | [0-9]{2} [1-9] \"0\" | [0-9] [1-9] \"00\" | [1-9] \"000\"",
        "leap-year ::= [0-9]{2} (\"0\" [48] | [2468] [048] | [13579] [26]) | "
        "([02468] [48] | [2468] \"0\" | [13579] [26]) \"00\"",
        "time ::= ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] "
        "(\".\" [0-9]{1,6})? (\"Z\" | [-+] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9])",
        "uuid ::= hex{8} \"-\" hex{4} \"-\" hex{4} \"-\" hex{4} \"-\" hex{12}",
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        gi_schema_write(writer, "%s\n", rules[i]);
    }
}

// True if a value has no number that reading it as a double has changed.
static bool keeps_numbers(const cJSON *value)
{
    bool ok = !cJSON_IsNumber(value) || fabs(value->valuedouble) <= INTEGER_MAX;
    for (const cJSON *child = value->child; ok && child; child = child->next) {
        ok = keeps_numbers(child);
    }
    return ok;
}

void gi_schema_write_constant(struct gi_schema_writer *writer, const cJSON *value)
{
    if (!keeps_numbers(value)) {
        gi_schema_refuse(writer, "a constant beyond 2^53 is not supported");
        return;
    }
    char *text = cJSON_PrintUnformatted(value);
    if (!text) {
        gi_schema_no_memory(writer);
        return;
    }
    gi_schema_write_literal(writer, text);
    cJSON_free(text);
}

//-- strings ---------------------------------------------------------------------------------------

static void write_format(struct gi_schema_writer *writer, const cJSON *format)
{
    static const char *const formats[][2] = {
        {"date",      "date"           },
        {"time",      "time"           },
        {"date-time", "date \"T\" time"},
        {"uuid",      "uuid"           }
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (cJSON_IsString(format) && strcmp(format->valuestring, formats[i][0]) == 0) {
            gi_schema_write(writer, "\"\\\"\" (%s) \"\\\"\"", formats[i][1]);
            return;
        }
    }
    gi_schema_refuse(writer,
                     "'format' \"%.100s\" is not supported: date, time, date-time and uuid are",
                     cJSON_IsString(format) ? format->valuestring : "");
}

void gi_schema_write_string(struct gi_schema_writer *writer, const cJSON *schema)
{
    const cJSON *pattern = gi_schema_get(schema, "pattern");
    const cJSON *format = gi_schema_get(schema, "format");
    const bool has_sizes = gi_schema_get(schema, "minLength") || gi_schema_get(schema, "maxLength");
    if ((pattern != NULL) + (format != NULL) + has_sizes > 1) {
        gi_schema_refuse(writer, "'%s' beside %s is not supported", pattern ? "pattern" : "format",
                         pattern && format ? "'format'" : "'minLength' or 'maxLength'");
    } else if (pattern) {
        gi_schema_write_pattern(writer, pattern);
    } else if (format) {
        write_format(writer, format);
    } else if (!has_sizes) {
        gi_schema_write(writer, "string");
    } else {
        const uint32_t least = gi_schema_count(writer, schema, "minLength", 0);
        const uint32_t most = gi_schema_count(writer, schema, "maxLength", UINT32_MAX);
        if (least > most || least > GI_SCHEMA_MAX_COUNT) {
            gi_schema_refuse(writer, "'minLength' is above %s",
                             least > most ? "'maxLength'" : "10000");
        }
        gi_schema_write(writer, "\"\\\"\" char{%u,", least);
        if (gi_schema_get(schema, "maxLength")) {
            gi_schema_write(writer, "%u", most < GI_SCHEMA_MAX_COUNT ? most : GI_SCHEMA_MAX_COUNT);
        }
        gi_schema_write(writer, "} \"\\\"\"");
    }
}

//-- integers --------------------------------------------------------------------------------------

enum { MAX_DIGITS = 16 };

static void write_digits(struct gi_schema_writer *writer, int from, int to)
{
    gi_schema_write(writer, from == to ? "\"%c\"" : "[%c-%c]", '0' + from, '0' + to);
}

// Writes the numbers from lo to hi, both of n digits, leading zeros too: by their first digit, with
// the rest free for those in the middle.
static void write_same_size(struct gi_schema_writer *writer, uint64_t lo, uint64_t hi, int n)
{
    uint64_t unit = 1;
    for (int i = 1; i < n; i++) {
        unit *= 10;
    }
    int first = (int)(lo / unit), last = (int)(hi / unit);
    const uint64_t lo_rest = lo % unit, hi_rest = hi % unit;
    if (n == 1) {
        write_digits(writer, first, last);
        return;
    }
    if (first == last && (lo_rest > 0 || hi_rest < unit - 1)) {
        write_digits(writer, first, first);
        gi_schema_write(writer, " (");
        write_same_size(writer, lo_rest, hi_rest, n - 1);
        gi_schema_write(writer, ")");
        return;
    }
    const char *between = "";
    if (lo_rest > 0) {
        write_digits(writer, first, first);
        gi_schema_write(writer, " (");
        write_same_size(writer, lo_rest, unit - 1, n - 1);
        gi_schema_write(writer, ")");
        first++;
        between = " | ";
    }
    last -= hi_rest < unit - 1;
    if (first <= last) {
        gi_schema_write(writer, "%s", between);
        write_digits(writer, first, last);
        gi_schema_write(writer, " [0-9]{%d}", n - 1);
        between = " | ";
    }
    if (hi_rest < unit - 1) {
        gi_schema_write(writer, "%s", between);
        write_digits(writer, last + 1, last + 1);
        gi_schema_write(writer, " (");
        write_same_size(writer, 0, hi_rest, n - 1);
        gi_schema_write(writer, ")");
    }
}

// Writes the numbers from lo to hi, 0 or above, without leading zeros.
static void write_range(struct gi_schema_writer *writer, uint64_t lo, uint64_t hi)
{
    uint64_t least = 0, most = 9; // of n digits
    const char *between = "";
    for (int n = 1; n <= MAX_DIGITS && least <= hi; n++) {
        if (lo <= most) {
            gi_schema_write(writer, "%s", between);
            write_same_size(writer, lo > least ? lo : least, hi < most ? hi : most, n);
            between = " | ";
        }
        least = most + 1;
        most = most * 10 + 9;
    }
}

// Returns a bound as a whole number within the range; `absent` if there is none.
static int64_t bound_of(struct gi_schema_writer *writer, const cJSON *schema, const char *keyword,
                        bool is_least, bool is_exclusive, int64_t absent)
{
    const cJSON *item = gi_schema_get(schema, keyword);
    if (!item) {
        return absent;
    }
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= INTEGER_MAX)) {
        gi_schema_refuse(writer, "'%s' is not a number of at most 2^53", keyword);
        return absent;
    }
    const double value = is_least ? ceil(item->valuedouble) : floor(item->valuedouble);
    const bool is_moved = is_exclusive && value == item->valuedouble;
    return (int64_t)value + (is_moved ? (is_least ? 1 : -1) : 0);
}

void gi_schema_write_integer(struct gi_schema_writer *writer, const cJSON *schema)
{
    const int64_t end = 9999999999999999;
    int64_t lo = bound_of(writer, schema, "minimum", true, false, -end);
    int64_t hi = bound_of(writer, schema, "maximum", false, false, end);
    const int64_t above = bound_of(writer, schema, "exclusiveMinimum", true, true, -end);
    const int64_t below = bound_of(writer, schema, "exclusiveMaximum", false, true, end);
    lo = above > lo ? above : lo;
    hi = below < hi ? below : hi;
    if (lo == -end && hi == end) {
        gi_schema_write(writer, "integer");
        return;
    }
    if (lo > hi) {
        gi_schema_refuse(writer, "no integer is from %" PRId64 " to %" PRId64, lo, hi);
        return;
    }
    if (lo < 0) {
        gi_schema_write(writer, "\"-\" (");
        write_range(writer, hi < 0 ? (uint64_t)-hi : 1, (uint64_t)-lo);
        gi_schema_write(writer, ")%s", hi >= 0 ? " | " : "");
    }
    if (hi >= 0) {
        write_range(writer, lo > 0 ? (uint64_t)lo : 0, (uint64_t)hi);
    }
}
